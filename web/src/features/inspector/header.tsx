import { ChevronDown, ChevronRight, ChevronUp, X } from 'lucide-react';
import { ActionKeys } from '../../shell/keys/keycap';
import { useSelectAgent } from '../../shell/selection';
import { modelCallsOf, pathOf, siblingsOf, workingBelow } from '../../store/agentselectors';
import { useConversation } from '../../store/hooks';
import { agentById, latestTask } from '../../store/selectors';
import { isStopping } from '../../store/stopping';
import { IconButton } from '../../ui/button';
import { RoleTile, roleName } from '../../ui/role';
import { Kbd } from '../../ui/small';
import { StatusBadge, shownOf } from '../../ui/status';
import { Limits } from './limits';

/** What a task is called: the first line of what was asked. */
export function titleOf(task: { instruction?: string; title?: string } | undefined): string {
  const text = task?.instruction?.trim() || task?.title || '';
  return text.split('\n', 1)[0] ?? '';
}

/** Who the agent is, where it stands, how it is and how much of its limits is used. */
export function InspectorHeader({
  conversation,
  agent: id,
  costLimit,
  onClose,
}: {
  conversation: string;
  agent: string;
  costLimit: number | undefined;
  onClose: () => void;
}) {
  const agent = useConversation(conversation, (state) => agentById(state, id));
  const task = useConversation(conversation, (state) => latestTask(state, id));
  const model = useConversation(conversation, (state) => modelCallsOf(state, id).at(-1)?.model);
  const agents = useConversation(conversation, (state) => workingBelow(state, id));
  const stopping = useConversation(conversation, (state) => !!task && isStopping(state, task));
  const role = agent ? roleName(agent.role) : '';
  const title = (agent?.depth ?? 0) > 0 ? titleOf(task) || role : role || id;
  const badge = task && <StatusBadge shown={shownOf(task, { agents, stopping })} agents={agents} />;
  return (
    <header className="shrink-0 border-b px-4 pt-2 pb-3">
      <div className="flex items-center gap-1">
        <Path conversation={conversation} agent={id} />
        <Siblings conversation={conversation} agent={id} />
        <IconButton label="Close" hint={<Kbd>Esc</Kbd>} onClick={onClose} className="size-7">
          <X className="size-4" aria-hidden="true" />
        </IconButton>
      </div>
      <div className="mt-1.5 flex items-start gap-2.5">
        {agent && <RoleTile roleId={agent.role} size="large" />}
        <div className="min-w-0 flex-1">
          <h2 className="line-clamp-2 text-balance break-words font-semibold text-md leading-5">
            {title}
          </h2>
          <p className="truncate text-fg-3 text-xs">
            {[role, model, agent && `depth ${agent.depth}`, id].filter(Boolean).join(' · ')}
          </p>
        </div>
        <span className="hidden sm:block">{badge}</span>
      </div>
      <div className="mt-2 sm:hidden">{badge}</div>
      {task && <Limits conversation={conversation} task={task} costLimit={costLimit} />}
    </header>
  );
}

function Path({ conversation, agent }: { conversation: string; agent: string }) {
  const path = useConversation(conversation, (state) => pathOf(state, agent));
  const select = useSelectAgent();
  return (
    <nav aria-label="Agent path" className="min-w-0 flex-1">
      <ol className="flex items-center gap-1 text-fg-3 text-xs">
        {path.map((step, index) => (
          <li key={step.id} className="flex min-w-0 items-center gap-1">
            {index > 0 && <ChevronRight className="size-3 shrink-0" aria-hidden="true" />}
            {index < path.length - 1 ? (
              <button
                type="button"
                onClick={() => select(step.id)}
                className="min-h-6 truncate rounded-sm hover:text-fg hover:underline"
              >
                {roleName(step.role)}
              </button>
            ) : (
              <span aria-current="page" className="truncate text-fg-2">
                {roleName(step.role)}
              </span>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Siblings({ conversation, agent }: { conversation: string; agent: string }) {
  const siblings = useConversation(conversation, (state) => siblingsOf(state, agent));
  const select = useSelectAgent();
  const index = siblings.findIndex((each) => each.id === agent);
  if (siblings.length < 2) return null;
  const step = (by: number) => {
    const next = siblings[index + by];
    if (next) select(next.id);
  };
  return (
    <>
      <span className="tnum shrink-0 text-fg-3 text-xs">
        {index + 1} of {siblings.length}
      </span>
      <IconButton
        label="Agent before"
        hint={<ActionKeys action="agent.previoussibling" />}
        disabled={index <= 0}
        onClick={() => step(-1)}
        className="size-7"
      >
        <ChevronUp className="size-4" aria-hidden="true" />
      </IconButton>
      <IconButton
        label="Agent after"
        hint={<ActionKeys action="agent.nextsibling" />}
        disabled={index >= siblings.length - 1}
        onClick={() => step(1)}
        className="size-7"
      >
        <ChevronDown className="size-4" aria-hidden="true" />
      </IconButton>
    </>
  );
}
