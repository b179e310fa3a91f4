import { useEffect, useState } from 'react';
import { listRoles } from '../../api/reads';
import { send } from '../../api/request';
import type { Answer } from '../../api/types';
import { roleName } from '../../ui/role';

export interface Choice {
  kind: 'role' | 'file';
  /** What is written behind the @. */
  value: string;
  label: string;
  detail: string;
}

/** What is being mentioned: where it begins, and as much as is written of it. */
export interface Mention {
  start: number;
  query: string;
}

/** The mention that the caret is in. An address such as a@b.c is none. */
export function mentionAt(text: string, caret: number): Mention | undefined {
  const found = /(?:^|[\s(])@([\p{L}\p{N}_./-]*)$/u.exec(text.slice(0, caret));
  if (!found) return undefined;
  const query = found[1] ?? '';
  return { start: caret - query.length - 1, query };
}

/** The text with a choice in the place of what was written of it, and where the caret goes. */
export function complete(text: string, mention: Mention, choice: Choice): [string, number] {
  const end = mention.start + 1 + mention.query.length;
  const before = `${text.slice(0, mention.start)}@${choice.value} `;
  return [before + text.slice(end).replace(/^ /, ''), before.length];
}

const MOST = 8;
/** A word is not looked up before it has stood for this long. */
const PAUSE = 120;

let roles: Promise<Choice[]> | undefined;

function allRoles(): Promise<Choice[]> {
  roles ??= listRoles()
    .then(({ items }) =>
      (items ?? []).map(
        ({ name, description }): Choice => ({
          kind: 'role',
          value: name,
          label: roleName(name),
          detail: description,
        }),
      ),
    )
    .catch(() => {
      roles = undefined;
      return [];
    });
  return roles;
}

/** A server without the workspace has no files to offer; that is no error for somebody who types. */
async function filesLike(q: string, workspace: string, signal: AbortSignal): Promise<Choice[]> {
  try {
    const query = { q, ...(workspace ? { workspace } : {}) };
    const { items } = await send<Answer<'listFiles'>>('/v1/files', { query, signal });
    return items.map(
      (path): Choice => ({
        kind: 'file',
        value: path,
        label: path.split('/').at(-1) ?? path,
        detail: path,
      }),
    );
  } catch {
    return [];
  }
}

const matches = (choice: Choice, query: string): boolean =>
  choice.value.toLowerCase().includes(query) || choice.label.toLowerCase().includes(query);

/** What may be meant: roles first, then files of the workspace. */
export function useChoices(query: string | undefined, workspace: string): readonly Choice[] {
  const [choices, setChoices] = useState<readonly Choice[]>([]);
  useEffect(() => {
    if (query === undefined) return setChoices([]);
    const ended = new AbortController();
    const wanted = query.toLowerCase();
    const timer = setTimeout(async () => {
      const found = (await allRoles()).filter((role) => matches(role, wanted));
      if (!ended.signal.aborted) setChoices(found.slice(0, MOST));
      const files = await filesLike(query, workspace, ended.signal);
      if (!ended.signal.aborted) setChoices([...found, ...files].slice(0, MOST));
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [query, workspace]);
  return choices;
}
