import { Link } from '@tanstack/react-router';
import { listConversations } from '../../api/reads';
import { useRead } from '../../api/useread';
import { useNow } from '../../ui/clock';
import { ago } from '../../ui/format';
import { EmptyState, Skeleton } from '../../ui/small';
import { ReadTrouble } from '../../ui/trouble';
import { Row, Rows, Section } from './parts';

/** Conversations that were put away. They can be read; nothing more happens in them. */
export function ArchiveList() {
  const { value, error, again } = useRead('archived', (signal) =>
    listConversations({ archived: true, limit: 200 }, { signal }),
  );
  const now = useNow();
  return (
    <Section title="Archived conversations" lead="They can be read, exported and deleted.">
      {error !== undefined && <ReadTrouble error={error} again={again} />}
      {!value && error === undefined && <Skeleton className="h-24" />}
      {value?.items.length === 0 && <EmptyState title="Nothing is archived" />}
      {value && value.items.length > 0 && (
        <Rows label="Archived conversations">
          {value.items.map((row) => (
            <Row key={row.id}>
              <Link
                to="/c/$id"
                params={{ id: row.id }}
                className="min-w-0 flex-1 truncate hover:underline"
              >
                {row.title || 'Untitled'}
              </Link>
              <span className="tnum text-fg-3 text-xs">{ago(row.updated_at, now)}</span>
            </Row>
          ))}
        </Rows>
      )}
    </Section>
  );
}
