// Every key of the app, in one table. What a key does is said where it is done, with useKeys; what it is, here.

/** Where a key holds: everywhere, or while the focus is in the part of the page that has this data-region. */
export type Region =
  | 'global'
  | 'sidebar'
  | 'conversation'
  | 'timeline'
  | 'dock'
  | 'composer'
  | 'inspector';

export interface Action {
  region: Region;
  /** What it does, as people are told. */
  label: string;
  chord: string;
  /** Whether it is what every such page does and cannot be changed. */
  fixed?: true;
}

const table = {
  'palette.open': { region: 'global', label: 'Search and commands', chord: 'mod+k' },
  'ask.next': { region: 'global', label: 'Go to what needs you', chord: 'mod+.' },
  'region.next': { region: 'global', label: 'Next part of the page', chord: 'f6' },
  'region.previous': { region: 'global', label: 'Previous part of the page', chord: 'shift+f6' },
  'shortcuts.open': { region: 'global', label: 'These shortcuts', chord: 'mod+/' },
  'layer.close': {
    region: 'global',
    label: 'Close the dialog; press twice to stop all agents',
    chord: 'escape',
    fixed: true,
  },
  'message.send': { region: 'composer', label: 'Send', chord: 'enter', fixed: true },
  'message.newline': { region: 'composer', label: 'New line', chord: 'shift+enter', fixed: true },
  'message.editlast': {
    region: 'composer',
    label: 'Edit the last message that is not read yet',
    chord: 'arrowup',
    fixed: true,
  },
  'ask.allow': { region: 'dock', label: 'Allow once', chord: 'a' },
  'ask.always': { region: 'dock', label: 'Always for this task', chord: 's' },
  'ask.edit': { region: 'dock', label: 'Edit', chord: 'e' },
  'ask.deny': { region: 'dock', label: 'Deny…', chord: 'd' },
  'ask.submit': { region: 'dock', label: 'Submit the answer', chord: 'mod+enter' },
  'turn.next': { region: 'conversation', label: 'Next turn', chord: 'j' },
  'turn.previous': { region: 'conversation', label: 'Previous turn', chord: 'k' },
  'turn.fold': { region: 'conversation', label: 'Fold or unfold', chord: 'space' },
  'agent.open': { region: 'conversation', label: 'Open the inspector', chord: 'o' },
  'find.open': { region: 'global', label: 'Find in the conversation', chord: 'mod+f' },
  'agent.nextsibling': { region: 'inspector', label: 'Next sibling', chord: ']' },
  'agent.previoussibling': { region: 'inspector', label: 'Previous sibling', chord: '[' },
  'agent.parent': { region: 'inspector', label: 'Parent', chord: 'alt+arrowup' },
  'row.down': { region: 'timeline', label: 'Next row', chord: 'arrowdown', fixed: true },
  'row.up': { region: 'timeline', label: 'Previous row', chord: 'arrowup', fixed: true },
  'row.collapse': { region: 'timeline', label: 'Collapse', chord: 'arrowleft', fixed: true },
  'row.expand': { region: 'timeline', label: 'Expand', chord: 'arrowright', fixed: true },
  'row.open': { region: 'timeline', label: 'Open', chord: 'enter', fixed: true },
} as const satisfies Record<string, Action>;

export type ActionId = keyof typeof table;

export const actions: Record<ActionId, Action> = table;

export const actionIds = Object.keys(table) as ActionId[];

export const regionNames: Record<Region, string> = {
  global: 'Everywhere',
  sidebar: 'Sidebar',
  conversation: 'Conversation',
  timeline: 'Timeline',
  dock: 'What needs you',
  composer: 'Composer',
  inspector: 'Inspector',
};

/** The browser's own, which a page must not take. */
const browsers = new Set(
  ['w', 't', 'n', 'r', 'l', 'q'].flatMap((key) => [`mod+${key}`, `mod+shift+${key}`]),
);
const alone = new Set(['tab', 'shift+tab', 'enter', 'shift+enter', 'escape', 'f5', 'f11', 'f12']);

/** Why a chord cannot be given to an action; nothing if it can. */
export function objection(
  id: ActionId,
  chord: string,
  chordFor: (id: ActionId) => string,
  plain: (chord: string) => boolean,
): string | undefined {
  if (chord === '') return undefined;
  const { region } = actions[id];
  if (browsers.has(chord) || alone.has(chord)) return 'The browser needs this key.';
  if (/^[1-9]$/.test(chord) && region === 'dock') return 'Numbers pick the options of a question.';
  if (region === 'global' && plain(chord))
    return 'A key that holds everywhere needs Ctrl, ⌘ or Alt.';
  const other = actionIds.find((each) => {
    const where = actions[each].region;
    const meet = where === region || where === 'global' || region === 'global';
    return each !== id && meet && chordFor(each) === chord;
  });
  return other && `“${actions[other].label}” has this key.`;
}
