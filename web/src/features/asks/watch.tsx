import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useKeys } from '../../shell/keys/registry';
import { useList } from '../../store/hooks';
import type { InboxRow } from '../../store/list';
import { announce } from '../../ui/announcer';
import { roleName } from '../../ui/role';
import { Arrivals, arrivalLine, noteOf } from './arrivals';
import { awaitDock, callDock } from './goto';
import { notify } from './notify';
import { countInTitle, markIcon } from './title';

/** Browsers wait no longer than this. */
const LONGEST = 2 ** 31 - 1;

const askOf = (row: InboxRow): string => row.approval?.id ?? row.question?.id ?? '';

/** Tells of what waits wherever in the app a person is, and takes them there when they ask. It shows nothing. */
export function AskWatch() {
  const rows = useList((list) => list.inbox.all());
  const ready = useList((list) => list.ready);
  const navigate = useNavigate();
  const { id: here } = useParams({ strict: false });
  const arrivals = useRef(new Arrivals());
  const go = (row: InboxRow) => {
    awaitDock();
    void navigate({ to: '/c/$id', params: { id: row.conversation }, search: { ask: askOf(row) } });
  };
  const latest = useRef({ rows, here, go });
  latest.current = { rows, here, go };

  useEffect(() => {
    markIcon(rows.length > 0);
    return countInTitle(rows.length);
  }, [rows.length]);

  useEffect(() => {
    if (!ready) return;
    const fresh = arrivals.current.arrived(rows);
    if (fresh.length > 0) announce(arrivalLine(fresh));
    for (const row of fresh) {
      const { title, body } = noteOf(row);
      notify(row.id, title, body, () => latest.current.go(row));
    }
  }, [rows, ready]);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const { soon, next } = arrivals.current.expiring(rows, Date.now());
      for (const row of soon) {
        announce(`What ${roleName(row.role)} asks expires in a minute.`, 'assertive');
      }
      if (next !== undefined) timer = setTimeout(look, Math.min(next, LONGEST));
    };
    look();
    return () => clearTimeout(timer);
  }, [rows]);

  useKeys({
    'ask.next': () => {
      if (callDock()) return;
      const { rows: now, here: open, go: visit } = latest.current;
      const next = now.find((row) => row.conversation === open) ?? now[0];
      if (next) visit(next);
    },
  });
  return null;
}
