import { getModelCall } from '../../api/reads';
import type { Schemas } from '../../api/types';
import { useRead } from '../../api/useread';
import { useConversation } from '../../store/hooks';
import { modelCallId } from '../../store/rows';
import { duration, money, plural, tokens } from '../../ui/format';
import { StatusBadge, shownOf } from '../../ui/status';
import { failureOf, triesWords } from '../inspector/attempt';
import { useDisclosure } from '../inspector/disclosure';
import { FoldRow } from '../inspector/foldrow';
import { MaybeJson } from '../inspector/json';
import { Output } from '../inspector/output';
import { Picture } from '../inspector/picture';
import { Section } from '../inspector/section';
import { CallHeading, Figures, Unread } from './parts';

interface Props {
  conversation: string;
  agent: string;
  call: string;
  task: string | undefined;
}

type View = Schemas['ModelCallView'];

/** One request to a model: exactly what it was sent, as far as it is recorded, and what it said. */
export function ModelCallPage({ conversation, agent, call, task }: Props) {
  const status = useConversation(
    conversation,
    (state) => state.modelCalls.get(modelCallId(task ?? agent, call))?.status,
  );
  const { value, error } = useRead(
    `${agent} ${call}`,
    (signal) =>
      getModelCall(conversation, agent, call, task === undefined ? {} : { task }, { signal }),
    status,
  );
  if (!value) return <Unread error={error} />;
  const { request } = value;
  return (
    <>
      <CallHeading conversation={conversation} agent={agent} title={`Model call ${call}`}>
        <StatusBadge shown={shownOf(value)} />
      </CallHeading>
      <Figures of={figures(value)} />
      {value.message && (
        <p data-s="failed" className="st st-fg break-words text-sm">
          {failureOf(value)}: {value.message}
        </p>
      )}
      <Section title="Reply">
        {value.reply.length === 0 && <p className="text-fg-3 text-sm">Nothing was said.</p>}
        <Parts parts={value.reply} />
      </Section>
      <Section title="System prompt, as it was sent">
        {request.system ? (
          <Output text={request.system} label={`${tokens(request.system.length)} characters`} />
        ) : (
          <p className="text-fg-3 text-sm">None is kept.</p>
        )}
      </Section>
      {request.tools.length > 0 && (
        <Section title="Tools beside those of every agent">
          <p className="break-words font-mono text-fg-2 text-xs">{request.tools.join('  ')}</p>
        </Section>
      )}
      <Section title={`${plural(request.messages.length, 'message')} before it`}>
        {request.earlier && (
          <p className="mb-2 text-fg-3 text-sm">There were more, which the transcript has.</p>
        )}
        <ol className="space-y-2">
          {request.messages.map((message) => (
            <MessageRow key={`${message.id} ${message.seq}`} message={message} at={agent} />
          ))}
        </ol>
      </Section>
    </>
  );
}

const figures = (call: View): [string, string | undefined][] => [
  ['Model', call.model],
  ['In', tokens(call.usage.input)],
  ['Cached', tokens(call.usage.cache_read)],
  ['Written to cache', call.usage.cache_write > 0 ? tokens(call.usage.cache_write) : undefined],
  ['Out', tokens(call.usage.output)],
  ['Reasoning', call.usage.reasoning > 0 ? tokens(call.usage.reasoning) : undefined],
  ['Cost', call.usage.unpriced_calls > 0 ? 'unknown' : money(call.usage.cost_micro_usd)],
  ['First token', call.first_token_ms === undefined ? undefined : duration(call.first_token_ms)],
  ['Took', call.duration_ms === undefined ? undefined : duration(call.duration_ms)],
  ['Waited for its turn', call.waited_ms ? duration(call.waited_ms) : undefined],
  ['Attempt', call.attempt?.toString()],
  ['Sent before', triesWords(call.tries) || undefined],
  ['Asked to wait', call.retry_after_ms ? duration(call.retry_after_ms) : undefined],
  ['Ended by', call.stop],
  ['Effort', call.request.effort],
  ['Temperature', call.request.temperature?.toString()],
  ['Most output', call.request.max_output ? tokens(call.request.max_output) : undefined],
  ['Provider’s name for it', call.provider_id],
];

const speakers = { user: 'User', assistant: 'Assistant', system: 'System', tool: 'Tool' } as const;

function MessageRow({ message, at }: { message: Schemas['Message']; at: string }) {
  const [open, toggle] = useDisclosure(`sent ${at} ${message.id}`);
  const line = message.parts
    .map(
      (part) => part.text || (part.kind === 'tool_use' ? `${part.tool} ${part.args}` : part.kind),
    )
    .join(' ');
  return (
    <li>
      <FoldRow
        open={open}
        toggle={toggle}
        line={
          <>
            <span className="w-16 shrink-0 font-medium text-xs">{speakers[message.speaker]}</span>
            <span className="min-w-0 flex-1 truncate font-mono text-fg-3 text-xs">
              {line.slice(0, 200)}
            </span>
          </>
        }
      >
        <div className="border-t p-2">
          <Parts parts={message.parts} />
        </div>
      </FoldRow>
    </li>
  );
}

const labels: Record<Schemas['Part']['kind'], string> = {
  text: 'Text',
  thinking: 'Thinking',
  tool_use: 'Asks for a tool',
  tool_result: 'Result of a tool',
  image: 'Image',
};

function Parts({ parts }: { parts: readonly Schemas['Part'][] }) {
  return (
    <div className="space-y-2">
      {parts.map((part, index) => {
        const key = `${index} ${part.kind}`;
        const label = [labels[part.kind], part.tool, part.call].filter(Boolean).join(' · ');
        if (part.kind === 'image' && part.image) {
          return <Picture key={key} hash={part.image} label={label} />;
        }
        if (part.kind === 'tool_use') {
          return <Asked key={key} label={label} args={part.args ?? ''} />;
        }
        return <Output key={key} text={part.text ?? ''} label={label} />;
      })}
    </div>
  );
}

const Asked = ({ label, args }: { label: string; args: string }) => (
  <div>
    <p className="mb-1 text-fg-3 text-xs">{label}</p>
    <MaybeJson text={args} label="Arguments" />
  </div>
);
