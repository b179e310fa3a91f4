import { useNavigate, useSearch } from '@tanstack/react-router';
import { RotateCw, Square } from 'lucide-react';
import { useReducer, useRef, useState } from 'react';
import { cancel } from '../../api/commands';
import type { Run } from '../../api/installation';
import { newKey } from '../../api/request';
import { isOver } from '../../store/selectors';
import { announce } from '../../ui/announcer';
import { Button, IconButton } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { plural } from '../../ui/format';
import { Page } from '../../ui/page';
import { EmptyState, Skeleton } from '../../ui/small';
import { ReadTrouble } from '../../ui/trouble';
import { BulkStop } from './bulkstop';
import { changed, readSearch } from './filter';
import { Filters } from './filters';
import { runKey, useRuns } from './list';
import { RunsTable } from './table';

/** All runs of all conversations, for the person who looks after them. */
export function RunsPage() {
  const search = readSearch(useSearch({ strict: false }) as Record<string, unknown>);
  const navigate = useNavigate();
  const runs = useRuns(search);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<readonly Run[]>();
  const stops = useStops();
  const live = runs.rows.filter((run) => chosen.has(runKey(run)) && !isOver(run));
  const start = async (picked: readonly Run[]) => {
    setAsking(undefined);
    setChosen(new Set());
    await stops.stop(picked);
    const { accepted, refused } = stops.counts();
    announce(
      refused > 0 ? `${accepted} being stopped, ${refused} refused` : `${accepted} being stopped`,
      'assertive',
    );
    runs.again();
  };
  return (
    <Page
      title="Runs"
      lead="Every task of every conversation, newest first."
      wide
      fill
      tools={
        <IconButton label="Read again" outlined onClick={runs.again}>
          <RotateCw className="size-4" aria-hidden="true" />
        </IconButton>
      }
    >
      <Filters
        key={JSON.stringify(search)}
        search={search}
        onChange={(part) =>
          void navigate({ to: '/runs', search: changed(search, part), replace: true })
        }
      />
      <div className="flex min-h-11 items-center gap-3 text-sm">
        <span className="tnum text-fg-2">
          {live.length > 0 ? `${live.length} selected` : countOf(runs.rows.length, runs.cursor)}
        </span>
        {live.length > 0 && (
          <Button look="danger" size="small" onClick={() => setAsking(live)}>
            <Square className="size-3" aria-hidden="true" />
            Stop {live.length}…
          </Button>
        )}
        <Progress stops={stops} />
      </div>
      {runs.error !== undefined && <ReadTrouble error={runs.error} again={runs.again} />}
      {!runs.ready && runs.error === undefined && <Skeleton className="h-64" />}
      {runs.ready && runs.rows.length === 0 && (
        <EmptyState title={Object.keys(search).length > 0 ? 'No run fits' : 'No runs yet'}>
          {Object.keys(search).length > 0
            ? 'Take a filter away to see more.'
            : 'They appear here when a conversation begins.'}
        </EmptyState>
      )}
      {runs.rows.length > 0 && (
        <RunsTable
          rows={runs.rows}
          chosen={chosen}
          onChoose={setChosen}
          stops={stops.states}
          onRetry={(run) => void start([run])}
          onEnd={() => void runs.more()}
        />
      )}
      <Confirm
        runs={asking}
        onClose={() => setAsking(undefined)}
        onStop={(picked) => void start(picked)}
      />
    </Page>
  );
}

const countOf = (count: number, cursor: string | undefined): string =>
  cursor === undefined ? plural(count, 'run') : `${count} runs read, there are more`;

/** The orders to stop of this visit. */
function useStops(): BulkStop {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const made = useRef<BulkStop>(undefined);
  made.current ??= new BulkStop((run, key) => cancel(run.conversation, run.id, key), newKey, draw);
  return made.current;
}

function Progress({ stops }: { stops: BulkStop }) {
  const { sending, accepted, refused } = stops.counts();
  const all = sending + accepted + refused;
  if (all === 0) return null;
  return (
    <span className="flex min-w-0 items-center gap-2 text-fg-2">
      <progress
        aria-label="Orders to stop"
        max={all}
        value={all - sending}
        data-s="running"
        className="st meter h-1 w-24"
      />
      <span className="tnum truncate">
        {sending > 0
          ? `Stopping ${all - sending} of ${all}`
          : `${plural(accepted, 'order')} accepted${refused > 0 ? `, ${refused} refused` : ''}`}
      </span>
    </span>
  );
}

function Confirm({
  runs,
  onClose,
  onStop,
}: {
  runs: readonly Run[] | undefined;
  onClose: () => void;
  onStop: (runs: readonly Run[]) => void;
}) {
  if (!runs) return null;
  const count = plural(runs.length, 'run');
  return (
    <Dialog title={`Stop ${count}?`} open onClose={onClose}>
      <div className="p-4 text-sm">
        <p>
          Each is stopped with all agents below it. What they have done so far is kept; they do not
          go on by themselves.
        </p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Keep them running</Button>
          <Button look="danger" onClick={() => onStop(runs)}>
            Stop {count}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
