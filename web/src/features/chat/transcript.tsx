import { memo, useMemo, useRef } from 'react';
import { useConversation } from '../../store/hooks';
import { EmptyState, Skeleton } from '../../ui/small';
import { useDisclosure } from './disclosure';
import { AHEAD, drawnFor } from './drawn';
import { JumpToLatest, useEnd } from './end';
import { guess } from './guess';
import { useTurnKeys } from './keys';
import { Beginning } from './lines';
import { type Drawn, drawn, useList } from './list';
import { useOlder } from './older';
import type { Row } from './row';
import { rowsOf } from './rows';
import { RowView } from './rowview';
import { useTarget } from './target';

/** The room above the first row, where it says what came before. It is no row: the list keeps the reader at a row. */
const BEGIN = 40;

/** Nearer to the end than this, the reader follows it. */
const NEAR = 48;

/** What people and the orchestrator said, and what its agents do. It follows the end only while the reader is there. */
export function Transcript({ conversation }: { conversation: string }) {
  const disclosure = useDisclosure(conversation);
  const known = useConversation(conversation, (state) => state.conversation !== undefined);
  const rows = useConversation(conversation, (state) => rowsOf(state, disclosure));
  const box = useRef<HTMLDivElement>(null);
  const list = useList({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => guess(rows[index] as Row),
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: AHEAD,
    rangeExtractor: useMemo(drawnFor, []),
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: NEAR,
    paddingStart: BEGIN,
    paddingEnd: 32,
  });
  const end = useEnd(conversation, list, rows, box);
  const older = useOlder(conversation, list, rows);
  useTarget(conversation, list, rows, older);
  const onKeyDown = useTurnKeys(conversation, list, rows);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={box}
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        data-region="conversation"
        onKeyDown={onKeyDown}
        className="transcript min-h-0 flex-1 overflow-y-auto bg-bg"
      >
        {!known && (
          <div className="mx-auto w-full max-w-[760px] space-y-6 px-4 pt-6 sm:px-6">
            <Skeleton className="ml-auto h-16 w-2/3" />
            <Skeleton className="h-24" />
          </div>
        )}
        {known && rows.length === 0 && (
          <EmptyState title="Nothing was said yet">
            Say what you want below. The orchestrator answers, and hands work to agents.
          </EmptyState>
        )}
        <div
          className="relative mx-auto w-full max-w-[760px]"
          style={{ height: list.getTotalSize() }}
        >
          {rows.length > 0 && <Beginning conversation={conversation} older={older} />}
          <Turns
            conversation={conversation}
            rows={rows}
            {...drawn(list)}
            measure={list.measureElement}
          />
        </div>
      </div>
      <JumpToLatest news={end.news} away={end.away} onJump={end.jump} />
    </div>
  );
}

/**
 * What is drawn of the turns, below the room of what is not. It stays as it is while the reader scrolls within it. Rows
 * follow each other: had each a place of its own, the browser would keep a layer for it, and look at all of them for each frame.
 */
const Turns = memo(function Turns({
  conversation,
  rows,
  first,
  end,
  above,
  measure,
}: Drawn & {
  conversation: string;
  rows: readonly Row[];
  measure: (row: Element | null) => void;
}) {
  return (
    <>
      <div style={{ height: above }} />
      {turnsOf(rows, first, end).map(({ turn, label, from, to }) => (
        <article key={turn} aria-label={label} data-turn={turn}>
          {rows.slice(from, to).map((row, at) => (
            <div
              key={row.key}
              data-index={from + at}
              data-key={row.key}
              ref={measure}
              className="flow-root px-4 sm:px-6"
            >
              <RowView conversation={conversation} row={row} />
            </div>
          ))}
        </article>
      ))}
    </>
  );
});

interface Turn {
  turn: string;
  label: string;
  from: number;
  to: number;
}

/** The rows that are drawn, turn by turn, so that each turn is one article although its rows come and go. */
function turnsOf(rows: readonly Row[], first: number, end: number): Turn[] {
  const turns: Turn[] = [];
  for (let at = first; at < Math.min(end, rows.length); at++) {
    const row = rows[at] as Row;
    const last = turns.at(-1);
    if (last?.turn === row.turn) last.to = at + 1;
    else turns.push({ turn: row.turn, label: labelOf(row), from: at, to: at + 1 });
  }
  return turns;
}

const labelOf = (row: Row): string => (row.kind === 'posted' ? 'You said' : 'Orchestrator');
