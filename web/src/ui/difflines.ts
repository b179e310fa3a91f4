// The difference between two texts, line by line, and the lines of a patch.

export interface DiffLine {
  sign: '+' | '-' | ' ' | '@';
  /** Its number in the file or passage: the old one's for what goes, the new one's for the rest. */
  number: number | undefined;
  text: string;
}

/** Longer than this on both sides, all lines go and all come: the work grows with both lengths. */
const CAREFUL = 1_500;

const lines = (text: string): string[] => {
  if (text === '') return [];
  const split = text.split('\n');
  if (split.at(-1) === '') split.pop();
  return split;
};

/** Every line of both texts: what is common to them once, what goes before what comes. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = lines(before);
  const young = lines(after);
  const small = old.length <= CAREFUL && young.length <= CAREFUL;
  const kept = small ? common(old, young) : [];
  const out: DiffLine[] = [];
  let at = 0;
  let to = 0;
  for (const [i, j] of [...kept, [old.length, young.length] as const]) {
    while (at < i) out.push({ sign: '-', number: at + 1, text: old[at++] ?? '' });
    while (to < j) out.push({ sign: '+', number: to + 1, text: young[to++] ?? '' });
    if (i < old.length) out.push({ sign: ' ', number: to + 1, text: young[to] ?? '' });
    at = i + 1;
    to = j + 1;
  }
  if (before !== '' && before.endsWith('\n') !== after.endsWith('\n')) {
    const which = after.endsWith('\n') ? 'gets' : 'loses';
    out.push({ sign: '@', number: undefined, text: `The last line ${which} its end` });
  }
  return out;
}

/** The places of a longest common subsequence. */
function common(a: readonly string[], b: readonly string[]): (readonly [number, number])[] {
  const width = b.length + 1;
  const length = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => length[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) out.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return out;
}

const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The lines of the first patch in a text; undefined if there is none. */
export function patchIn(text: string): DiffLine[] | undefined {
  const start = /^@@ /m.exec(text)?.index;
  return start === undefined ? undefined : patchLines(text.slice(start));
}

/** The lines of a patch in the unified form. What is no part of a hunk stays as it is, so that nothing is left out. */
export function patchLines(patch: string): DiffLine[] {
  let old = 0;
  let young = 0;
  // How many lines of both sides the hunk still has: what looks like a heading may be one of them.
  let [gone, come] = [0, 0];
  return lines(patch).map((line) => {
    const head = gone + come > 0 ? null : hunk.exec(line);
    if (head) {
      [old, young] = [Number(head[1]), Number(head[3])];
      [gone, come] = [Number(head[2] ?? 1), Number(head[4] ?? 1)];
      return { sign: '@', number: undefined, text: line };
    }
    const sign = line.charAt(0);
    const text = line.slice(1);
    if (sign === '-' && gone > 0) {
      gone--;
      return { sign, number: old++, text };
    }
    if (sign === '+' && come > 0) {
      come--;
      return { sign, number: young++, text };
    }
    if (sign === ' ' && gone > 0 && come > 0) {
      [gone, come] = [gone - 1, come - 1];
      old++;
      return { sign, number: young++, text };
    }
    return { sign: '@', number: undefined, text: line };
  });
}

export function counts(list: readonly DiffLine[]): { added: number; removed: number } {
  return {
    added: list.filter((line) => line.sign === '+').length,
    removed: list.filter((line) => line.sign === '-').length,
  };
}
