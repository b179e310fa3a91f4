// How high a row will be. A guess that is right saves drawing the list once more when the row has been measured.

import { type Row, textsOf } from './row';

const LINE = 24;

/** Letters in a line of the chat when there is room for it. */
const LETTERS = 88;

/** What the edge below a card adds. */
const BELOW = 16;

export function guess(row: Row): number {
  switch (row.kind) {
    case 'posted':
      return 52 + LINE * lines(textsOf(row.message).join('\n\n'));
    case 'heading':
      return 46;
    case 'block':
      return 12 + LINE * lines(row.raw.trimEnd());
    case 'group':
      return 42;
    case 'task':
      return (row.open ? 84 : 37) + below(row.edge);
    case 'deeper':
      return 33 + below(row.edge);
    case 'fold':
      return 37 + below(row.edge);
    case 'note':
      return 32;
    case 'end':
      return 44;
    case 'working':
      return 36;
  }
}

const lines = (text: string): number =>
  text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LETTERS)), 0);

const below = (edge: string): number => (edge === 'last' || edge === 'only' ? BELOW : 0);
