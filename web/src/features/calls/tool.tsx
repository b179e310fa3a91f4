import { getToolCall } from '../../api/reads';
import type { ToolStatus } from '../../api/types';
import { useRead } from '../../api/useread';
import { useConversation } from '../../store/hooks';
import { toolCallId } from '../../store/rows';
import { duration } from '../../ui/format';
import { StatusIcon } from '../../ui/status';
import { Json } from '../inspector/json';
import { Output } from '../inspector/output';
import { Section } from '../inspector/section';
import { ToolBody } from '../inspector/tools/bodies';
import { toolStatus } from '../inspector/tools/looks';
import { CallHeading, Figures, Unread } from './parts';

interface Props {
  conversation: string;
  agent: string;
  call: string;
}

/** One tool call: how it is shown, and under it what really went in and came out. */
export function ToolCallPage({ conversation, agent, call }: Props) {
  const row = useConversation(conversation, (state) =>
    state.toolCalls.get(toolCallId(agent, call)),
  );
  const { value, error } = useRead(
    `${agent} ${call}`,
    (signal) => getToolCall(conversation, agent, call, { signal }),
    row?.status,
  );
  if (!value) return <Unread error={error} />;
  const status = toolStatus((value.status as ToolStatus | undefined) ?? row?.status ?? 'pending');
  return (
    <>
      <CallHeading conversation={conversation} agent={agent} title={`${value.tool}, call ${call}`}>
        <span className="flex items-center gap-1.5 text-sm">
          <StatusIcon shown={status.shown} />
          {status.word}
        </span>
      </CallHeading>
      <Figures
        of={[
          ['Began', row?.started_at && new Date(row.started_at).toLocaleString()],
          ['Took', value.duration_ms === undefined ? undefined : duration(value.duration_ms)],
          ['Attempt', row?.attempt?.toString()],
        ]}
      />
      <ToolBody conversation={conversation} call={value} />
      <Section title="Arguments, as the model wrote them">
        <Output text={value.args} label="Arguments" />
      </Section>
      {value.status !== undefined && (
        <Section title="Answer, as the model was given it">
          <Output text={value.text ?? ''} label="Answer" whole={value.whole} />
        </Section>
      )}
      {value.facts !== undefined && (
        <Section title="What was noted of it">
          <Json value={value.facts} />
        </Section>
      )}
    </>
  );
}
