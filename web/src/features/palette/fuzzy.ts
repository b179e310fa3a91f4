// Finds by a few letters: they must come in order. Letters that begin words, and letters in a row, count for more.

export interface Match {
  score: number;
  /** Where the letters were found. */
  at: readonly number[];
}

const START = 8;
const ROW = 5;
const LATE = 0.1;

/** How well a text fits what was typed; nothing if it does not. Each word may stand anywhere. */
export function fuzzy(query: string, text: string): Match | undefined {
  let score = 0;
  const at: number[] = [];
  const low = fold(text);
  for (const word of fold(query).split(/\s+/).filter(Boolean)) {
    const found = whole(word, low) ?? scattered(word, low);
    if (!found) return undefined;
    score += found.score;
    at.push(...found.at);
  }
  return { score: score - text.length * LATE, at: [...new Set(at)].sort((a, b) => a - b) };
}

/** Lower case, and of the same length as before, so that places stay places. */
function fold(text: string): string {
  const low = text.toLowerCase();
  return low.length === text.length ? low : text;
}

const begins = (text: string, index: number): boolean =>
  index === 0 || /[\s/_.:·-]/.test(text[index - 1] ?? '');

function whole(word: string, text: string): Match | undefined {
  let index = text.indexOf(word);
  for (let next = index; next >= 0; next = text.indexOf(word, next + 1)) {
    if (begins(text, next)) {
      index = next;
      break;
    }
  }
  if (index < 0) return undefined;
  const at = Array.from(word, (_, i) => index + i);
  return { score: word.length * (ROW + 2) + (begins(text, index) ? START * 2 : 0), at };
}

function scattered(word: string, text: string): Match | undefined {
  const at: number[] = [];
  let score = 0;
  let from = 0;
  for (const letter of word) {
    const index = from < 0 ? -1 : nextOf(letter, text, from);
    if (index < 0) return undefined;
    if (begins(text, index)) score += START;
    if (at.at(-1) === index - 1) score += ROW;
    at.push(index);
    from = index + 1;
  }
  // Letters strewn over a long text are no find.
  const spread = (at.at(-1) ?? 0) - (at[0] ?? 0) + 1;
  return spread > word.length * 8 ? undefined : { score: score - spread * LATE, at };
}

/** The next place of a letter: one that goes on or begins a word is better than the nearest. */
function nextOf(letter: string, text: string, from: number): number {
  if (text[from] === letter) return from;
  for (let i = from; i < text.length; i++) if (text[i] === letter && begins(text, i)) return i;
  return text.indexOf(letter, from);
}
