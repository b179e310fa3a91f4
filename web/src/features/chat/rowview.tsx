import { memo } from 'react';
import { Block } from '../../markdown/block';
import { cx } from '../../ui/classes';
import { EndRow, NoteLine, WorkingRow } from './lines';
import { PostedRow, TurnHeading } from './message';
import type { Row } from './row';
import { DeeperRow, FoldRow, GroupHeader, TaskRowView } from './tasks';

/** One row of the chat. Rows keep their distance to those above by themselves: they are measured one by one. */
export const RowView = memo(function RowView({
  conversation,
  row,
}: {
  conversation: string;
  row: Row;
}) {
  switch (row.kind) {
    case 'posted':
      return <PostedRow conversation={conversation} message={row.message} />;
    case 'heading':
      return <TurnHeading conversation={conversation} row={row} />;
    case 'block':
      return (
        <div
          {...(row.key.endsWith(' 0.0') ? { id: `m-${row.message}` } : {})}
          className={cx('prose pb-3', row.open && 'caret-host')}
        >
          <Block raw={row.raw} open={row.open} />
        </div>
      );
    case 'group':
      return <GroupHeader conversation={conversation} row={row} />;
    case 'task':
      return <TaskRowView conversation={conversation} row={row} />;
    case 'deeper':
      return <DeeperRow conversation={conversation} row={row} />;
    case 'fold':
      return <FoldRow conversation={conversation} row={row} />;
    case 'note':
      return <NoteLine conversation={conversation} note={row.note} />;
    case 'end':
      return <EndRow end={row.end} />;
    case 'working':
      return <WorkingRow conversation={conversation} />;
  }
});
