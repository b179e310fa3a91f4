import type { Schemas } from '../../api/types';
import { Exact } from '../../ui/exact';

type Source = Schemas['Source'];

/** A source as a person reads it. */
export function sourceName({ kind, name = '' }: Source): string {
  switch (kind) {
    case 'mcp':
      return `the MCP server ${name}`;
    case 'agent':
      return `what agent ${name} has read`;
    case 'more':
      return 'others';
    default:
      return name;
  }
}

/** Why a person is asked whatever the rules say: what the agent has read that strangers may have written. */
export function Sources({ sources }: { sources: readonly Source[] | undefined }) {
  if (!sources || sources.length === 0) return null;
  return (
    <p className="wrap-anywhere font-medium text-sm">
      Asked because this agent has read <Exact text={sources.map(sourceName).join(', ')} />. Rules
      do not apply.
    </p>
  );
}
