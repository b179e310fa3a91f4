import { marked, type Token } from 'marked';

/** A text's top-level blocks, each with its own Markdown. */
export function splitBlocks(text: string): string[] {
  return lex(text)
    .filter((token) => token.type !== 'space')
    .map((token) => token.raw);
}

export const lex = (text: string): Token[] => marked.lexer(text, { gfm: true });

/** After a look at the end that finished nothing, it grows by this much before the next look. */
const GROWTH = 1.25;

/**
 * Splits a text while it comes in. Only the unfinished end is read again, and an end that stays unfinished is read at
 * ever greater distances, so that what a delta costs does not grow with the message. Blocks that are done never change.
 */
export class BlockStream {
  private readonly done: string[] = [];
  private text = '';
  /** Where the unfinished end begins. */
  private from = 0;
  /** How long the text has to be before it is worth looking at again. */
  private next = 0;
  private fence: Fence | undefined;
  private blocks: string[] | undefined;

  push(text: string): void {
    if (text === '') return;
    this.text += text;
    this.blocks = undefined;
    if (!text.includes('\n')) return;
    // A fence runs on until a line closes it, whatever is in it.
    if (this.fence && !this.fence.isClosed(this.text)) return;
    this.fence = undefined;
    if (this.text.length < this.next) return;
    this.settle();
  }

  /** Takes in a text of which the beginning was pushed before. Another one begins anew. */
  sync(text: string): this {
    if (!text.startsWith(this.text)) return new BlockStream().sync(text) as this;
    this.push(text.slice(this.text.length));
    return this;
  }

  /** All blocks so far. The last one may grow. */
  all(): string[] {
    this.blocks ??= [...this.done, ...this.end()];
    return this.blocks;
  }

  private end(): string[] {
    const rest = this.text.slice(this.from);
    return this.fence ? [rest] : splitBlocks(rest);
  }

  /** Puts away the blocks at which nothing can change any more. */
  private settle(): void {
    // A line that is not whole may turn out to be something else: "1" becomes "1." and goes on with a list.
    const whole = this.text.lastIndexOf('\n') + 1;
    const tokens = lex(this.text.slice(this.from, whole));
    let last = tokens.length - 1;
    while (last >= 0 && tokens[last]?.type === 'space') last--;
    // The block before the end may still grow into the one after it, as a list or a table does.
    for (const token of tokens.slice(0, Math.max(0, last))) {
      this.from += token.raw.length;
      if (token.type !== 'space') this.done.push(token.raw);
    }
    this.next = last < 1 ? this.from + (this.text.length - this.from) * GROWTH : 0;
    this.fence = Fence.at(this.text, this.from);
    if (this.fence?.isClosed(this.text)) this.fence = undefined;
  }
}

/** A block of code that is open. Reads each line once to see whether it closes it. */
class Fence {
  private constructor(
    private readonly closing: RegExp,
    /** Up to here no line closes it. */
    private at: number,
  ) {}

  /** The fence that opens at a place, if its first line is whole and it stands alone. */
  static at(text: string, from: number): Fence | undefined {
    const line = text.slice(from, text.indexOf('\n', from) + 1);
    const [, mark] = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line.trimEnd()) ?? [];
    if (!line || !mark) return undefined;
    const closing = new RegExp(`^ {0,3}\\${mark[0]}{${mark.length},}[ \\t]*$`);
    return new Fence(closing, from + line.length);
  }

  isClosed(text: string): boolean {
    for (let end = text.indexOf('\n', this.at); end >= 0; end = text.indexOf('\n', this.at)) {
      if (this.closing.test(text.slice(this.at, end))) return true;
      this.at = end + 1;
    }
    return false;
  }
}
