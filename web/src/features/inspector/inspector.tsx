import { Lock, Square } from 'lucide-react';
import {
  type FocusEvent,
  type KeyboardEvent,
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useEffect,
  useRef,
} from 'react';
import { cancel } from '../../api/commands';
import { useRead } from '../../api/useread';
import { actionFor } from '../../shell/keys/registry';
import { useSelectAgent, useSelectedTab, useSelectTab } from '../../shell/selection';
import { siblingsOf, workingBelow } from '../../store/agentselectors';
import { useConversation } from '../../store/hooks';
import { agentById, isOver, latestTask, orchestrator } from '../../store/selectors';
import { isStopping } from '../../store/stopping';
import { store } from '../../store/store';
import { readAgent } from '../../transport/agentpages';
import { announce } from '../../ui/announcer';
import { Button } from '../../ui/button';
import { EmptyState, Skeleton } from '../../ui/small';
import { Tabs } from '../../ui/tabs';
import { toastError } from '../../ui/toast';
import { InspectorHeader } from './header';
import { useModelCallPages } from './usepages';

// The transcript comes with the frame; the rest is loaded when somebody looks at it.
const AgentTranscript = lazy(() =>
  import('./transcript').then((m) => ({ default: m.AgentTranscript })),
);
const ResultView = lazy(() => import('./result').then((m) => ({ default: m.ResultView })));
const ModelCalls = lazy(() => import('./modelcalls').then((m) => ({ default: m.ModelCalls })));
const ConfigView = lazy(() => import('./config').then((m) => ({ default: m.ConfigView })));
const later = (view: ReactNode) => (
  <Suspense fallback={<Skeleton className="m-4 h-24" />}>{view}</Suspense>
);

const tabIds = ['transcript', 'result', 'calls', 'config'] as const;
type TabId = (typeof tabIds)[number];

/** One agent, to be read only: what it was asked, what it did, what came of it, what it cost and how it is set up. */
export function Inspector({
  conversation,
  agent: id,
  onClose,
}: {
  conversation: string;
  agent: string;
  onClose: () => void;
}) {
  const agent = useConversation(conversation, (state) => agentById(state, id));
  const task = useConversation(conversation, (state) => latestTask(state, id));
  const known = useConversation(conversation, (state) => state.conversation !== undefined);
  const chosen = useSelectedTab();
  const selectTab = useSelectTab();
  const tab: TabId = tabIds.find((each) => each === chosen) ?? 'transcript';
  const showResult = useCallback(() => selectTab('result'), [selectTab]);
  const { value: detail, error } = useRead(
    id,
    (signal) => readAgent(conversation, id, signal),
    `${task?.id} ${task?.status}`,
  );
  const whole = detail?.tasks.find((each) => each.id === task?.id);
  const calls = useModelCallPages(conversation, id);
  const onKeyDown = useKeys(conversation, id);
  const focus = useFocusKept(id);
  if (known && !agent) {
    return (
      <EmptyState
        title="There is no such agent"
        action={<Button onClick={onClose}>Close</Button>}
      >{`Nobody is called ${id} in this conversation.`}</EmptyState>
    );
  }
  return (
    <section
      {...focus}
      tabIndex={-1}
      aria-label="Inspector"
      data-region="inspector"
      onKeyDown={onKeyDown}
      className="flex outline-none h-full min-h-0 flex-col bg-bg"
    >
      <InspectorHeader
        conversation={conversation}
        agent={id}
        costLimit={costLimitOf(whole?.brief)}
        onClose={onClose}
      />
      <Tabs<TabId>
        label="Views of the agent"
        value={tab}
        onChange={(to) => selectTab(to === 'transcript' ? undefined : to)}
        tabs={[
          {
            id: 'transcript',
            label: 'Transcript',
            content: later(
              <AgentTranscript
                key={id}
                conversation={conversation}
                agent={id}
                live={task !== undefined && !isOver(task)}
                onShowResult={showResult}
              />,
            ),
          },
          {
            id: 'result',
            label: 'Result',
            content: later(
              <ResultView key={id} conversation={conversation} task={task} detail={whole} />,
            ),
          },
          {
            id: 'calls',
            label: 'Model calls',
            content: later(
              <ModelCalls key={id} conversation={conversation} agent={id} pages={calls} />,
            ),
          },
          {
            id: 'config',
            label: 'Configuration',
            content: later(<ConfigView key={id} detail={detail} error={error} />),
          },
        ]}
      />
      <Footer conversation={conversation} agent={id} />
    </section>
  );
}

/** A person who goes from one agent to another inside the inspector stays in it, although the row that they were on is gone. */
function useFocusKept(id: string) {
  const section = useRef<HTMLElement>(null);
  const inside = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another agent is what takes the row away
  useEffect(() => {
    if (inside.current && document.activeElement === document.body) {
      section.current?.focus({ preventScroll: true });
    }
  }, [id]);
  return {
    ref: section,
    onFocus: () => {
      inside.current = true;
    },
    onBlur: (event: FocusEvent) => {
      const to = event.relatedTarget;
      if (to instanceof Node && !event.currentTarget.contains(to)) inside.current = false;
    },
  };
}

function costLimitOf(brief: unknown): number | undefined {
  const limits = (brief as { limits?: { cost?: number } } | undefined)?.limits;
  return limits?.cost || undefined;
}

/** Brackets go to the agents beside this one, Alt and up to the one above. Only while the inspector has the focus. */
function useKeys(conversation: string, id: string): (event: KeyboardEvent) => void {
  const select = useSelectAgent();
  return (event) => {
    const action = actionFor(event.nativeEvent, 'inspector');
    const state = store.conversation(conversation);
    let next: string | undefined;
    if (action === 'agent.parent') next = agentById(state, id)?.parent;
    else if (action === 'agent.nextsibling' || action === 'agent.previoussibling') {
      const siblings = siblingsOf(state, id);
      const at = siblings.findIndex((each) => each.id === id);
      next = siblings[at + (action === 'agent.nextsibling' ? 1 : -1)]?.id;
    }
    if (next === undefined) return;
    event.preventDefault();
    select(next);
  };
}

function Footer({ conversation, agent }: { conversation: string; agent: string }) {
  const task = useConversation(conversation, (state) => latestTask(state, agent));
  const below = useConversation(conversation, (state) => workingBelow(state, agent));
  const stopping = useConversation(conversation, (state) => !!task && isStopping(state, task));
  const stop = async () => {
    try {
      await cancel(conversation, agent === orchestrator ? undefined : task?.id);
      announce('It is being stopped.', 'assertive');
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <footer className="flex min-h-11 shrink-0 items-center gap-2 border-t bg-sunken px-4 py-1.5 text-fg-3 text-xs">
      <Lock className="size-3.5 shrink-0" aria-hidden="true" />
      <span className="min-w-0 flex-1">Read-only: talk to the orchestrator.</span>
      {task && !isOver(task) && (
        <Button look="danger" size="small" disabled={stopping} onClick={() => void stop()}>
          <Square className="size-3" aria-hidden="true" />
          {stopWord(agent === orchestrator, below, stopping)}
        </Button>
      )}
    </footer>
  );
}

/** A button names its effect: the agents below stop too. */
function stopWord(all: boolean, below: number, stopping: boolean): string {
  if (stopping) return 'Stopping…';
  if (all) return 'Stop all agents';
  return below === 0 ? 'Stop agent' : `Stop agent and ${below} below`;
}
