import { CheckCheck } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useList } from '../../store/hooks';
import type { InboxRow } from '../../store/list';
import { plural } from '../../ui/format';
import { Skeleton } from '../../ui/small';
import { NotifySwitch } from '../asks/notifyswitch';
import { InboxItem } from './item';
import { listedRows, versionOf } from './listed';

/** All that waits for a person, in whichever conversation, oldest first. It can be decided where it stands. */
export function InboxPage() {
  const ready = useList((list) => list.ready);
  const rows = useList((list) => list.inbox.all());
  const [opened, setOpened] = useState<InboxRow>();
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    document.title = 'Needs you · Retinue';
  }, []);
  const listed = listedRows(rows, opened, done);
  const places = new Set(listed.map((row) => row.conversation)).size;
  const finish = (row: InboxRow) => {
    setDone((before) => new Set(before).add(versionOf(row)));
    setOpened(undefined);
    heading.current?.focus({ preventScroll: true });
  };
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto max-w-[860px] px-4 py-6 max-lg:pt-14 sm:px-6">
        <div className="flex flex-wrap items-end justify-between gap-3">
          <div>
            <h1
              ref={heading}
              tabIndex={-1}
              className="font-semibold text-xl tracking-tight outline-none"
            >
              Needs you
            </h1>
            <p className="text-fg-2 text-sm">
              {listed.length === 0
                ? 'Approvals and questions of all conversations come here.'
                : `${plural(listed.length, 'request')} in ${plural(places, 'conversation')}. Oldest first.`}
            </p>
          </div>
          <NotifySwitch />
        </div>
        {!ready && <Skeleton className="mt-5 h-32" />}
        {listed.length > 0 && (
          <ul className="mt-5 divide-y divide-line overflow-hidden rounded-lg border bg-surface">
            {listed.map((row, index) => (
              <InboxItem
                key={row.id}
                row={row}
                gone={!rows.some((each) => each.id === row.id)}
                place={String(index)}
                expanded={opened?.id === row.id}
                onToggle={() => setOpened(opened?.id === row.id ? undefined : row)}
                onDone={() => finish(row)}
              />
            ))}
          </ul>
        )}
        {ready && (
          <p className="mt-8 flex items-center justify-center gap-2 text-fg-3 text-sm">
            <CheckCheck className="size-4" aria-hidden="true" />
            {listed.length > 0 ? 'Nothing else is waiting.' : 'Nothing is waiting for you.'}
          </p>
        )}
      </div>
    </div>
  );
}
