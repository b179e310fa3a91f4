// The screens of the app, by the names under which scenarios of the gate say what they show.

/** Where a screen lies in the source, and its address in the router if it has one. */
interface Place {
  from: string;
  at?: string;
}

export const screens = {
  home: { from: 'shell/home', at: '/' },
  new: { from: 'features/new', at: '/new' },
  inbox: { from: 'features/inbox', at: '/inbox' },
  chat: { from: 'features/chat', at: '/c/$id/' },
  timeline: { from: 'features/timeline', at: '/c/$id/timeline' },
  cost: { from: 'features/cost', at: '/c/$id/cost' },
  call: { from: 'features/calls', at: '/c/$id/calls/$callId' },
  roles: { from: 'features/roles', at: '/roles' },
  role: { from: 'features/roles', at: '/roles/$roleId' },
  runs: { from: 'features/runs', at: '/runs' },
  settings: { from: 'features/settings', at: '/settings' },
  'settings part': { from: 'features/settings', at: '/settings/$part' },
  // These have no address of their own.
  door: { from: 'shell/door' },
  'not found': { from: 'shell/notfound' },
  inspector: { from: 'features/inspector' },
  approval: { from: 'features/asks' },
  question: { from: 'features/asks' },
  find: { from: 'features/find' },
  palette: { from: 'features/palette' },
  shortcuts: { from: 'features/shortcuts' },
} as const satisfies Record<string, Place>;

/** What the gate plays beside one scenario per screen: that nothing runs, leaves or happens that must not. */
export const promises = ['guards', 'hostile'] as const;

export type Gate = keyof typeof screens | (typeof promises)[number];

/** The names that the scenarios of a file say: `gate: 'chat'` or `gate: ['chat', 'cost']`. */
export function namesIn(source: string): string[] {
  return [...source.matchAll(/\bgate:\s*(\[[^\]]*\]|'[^']*')/g)].flatMap((found) =>
    [...(found[1] ?? '').matchAll(/'([^']*)'/g)].map((name) => name[1] ?? ''),
  );
}

/** What is wrong with a list of screens: addresses and folders it lacks or makes up, screens that nobody shows. */
export function gaps(
  list: Readonly<Record<string, Place>>,
  app: { addresses: readonly string[]; features: readonly string[] },
  shown: readonly string[],
): string[] {
  const names = [...Object.keys(list), ...promises];
  const places = Object.values(list);
  const listed = places.flatMap(({ at }) => (at === undefined ? [] : [at]));
  const folders = places
    .map(({ from }) => from)
    .filter((each) => each.startsWith('features/'))
    .map((each) => each.slice('features/'.length));
  const without = (some: readonly string[], others: readonly string[], what: string) =>
    [...new Set(some)].filter((each) => !others.includes(each)).map((each) => `${what}: ${each}`);
  return [
    ...without(app.addresses, listed, 'the router has an address that is no screen'),
    ...without(listed, app.addresses, 'the router has no such address'),
    ...without(app.features, folders, 'a folder of features is no screen'),
    ...without(folders, app.features, 'there is no such folder of features'),
    ...without(names, shown, 'no scenario of the gate shows'),
    ...without(shown, names, 'a scenario of the gate shows what is not there'),
  ];
}
