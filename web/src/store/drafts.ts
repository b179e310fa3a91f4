import type { Delta } from '../api/types';
import { messageId } from './rows';

/** A message before its row is there. */
export interface Draft {
  /** The id of its row to be. */
  message: string;
  agent: string;
  began: number;
  /** By their place in the message. One that has not come yet is missing. */
  parts: readonly (DraftPart | undefined)[];
}

export interface DraftPart {
  kind: string;
  tool?: string;
  /** What is there of it, as it is shown. */
  text: string;
  /** What came, in its order. Between two of them something was lost. */
  stretches: readonly Stretch[];
}

/** A text without a gap. Offsets count bytes of UTF-8. */
interface Stretch {
  from: number;
  to: number;
  text: string;
}

/** Stands where something is missing. The message that follows has it. */
export const GAP = '\n\n…\n\n';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** An agent's turn or task that ended, and the event that said so. */
interface Ending {
  agent: string;
  until: number;
  seq: number;
}

/**
 * The lossy channel. What is lost leaves a gap that can be seen; the message that follows replaces all of it. What a
 * reader has before their eyes never gets shorter until then.
 */
export class Drafts {
  version = 0;
  private readonly rows = new Map<string, Draft>();
  /** Those that were begun again. They take the place of what is shown when they are as long. */
  private readonly anew = new Map<string, Draft>();
  private readonly ended = new Set<string>();
  /** Until when what an agent began has come to its end, in nanoseconds as deltas count. */
  private readonly over = new Map<string, number>();
  /** Those before which something may be missing: the message that belongs in a draft's place, perhaps. */
  private endings: Ending[] = [];
  private whole = 0;

  get(message: string): Draft | undefined {
    return this.rows.get(message);
  }

  /** Those of one agent, oldest first. */
  of(agent: string): Draft[] {
    return [...this.rows.values()]
      .filter((draft) => draft.agent === agent)
      .sort((a, b) => a.began - b.began);
  }

  add(delta: Delta): void {
    const id = messageId(delta.agent_path, delta.message);
    if (this.ended.has(id) || delta.began <= (this.over.get(delta.agent_path) ?? 0)) return;
    const shown = this.rows.get(id);
    let draft = this.anew.get(id) ?? shown;
    if (draft && delta.began < draft.began) return;
    if (!draft || delta.began > draft.began) {
      draft = { message: id, agent: delta.agent_path, began: delta.began, parts: [] };
    }
    const part = extended(draft.parts[delta.part], delta);
    if (!part) return;
    const parts = [...draft.parts];
    parts[delta.part] = part;
    this.take({ ...draft, parts }, shown);
  }

  private take(draft: Draft, shown: Draft | undefined): void {
    if (shown && shown.began < draft.began && lengthOf(draft) < lengthOf(shown)) {
      this.anew.set(draft.message, draft);
      return;
    }
    this.anew.delete(draft.message);
    this.rows.set(draft.message, draft);
    this.version++;
  }

  /** Forgets the draft of a message whose row is there. Deltas that come late are dropped. */
  end(message: string): void {
    this.ended.add(message);
    this.anew.delete(message);
    if (this.rows.delete(message)) this.version++;
  }

  /**
   * Says that an agent's turn or task ended, with or without a message. What it began before is forgotten once all events
   * up to this one are known: a message that comes later than the end of its turn finds its draft still there.
   */
  endBefore(agent: string, moment: string, seq: number): void {
    const until = Date.parse(moment) * 1e6;
    if (!(until > (this.over.get(agent) ?? 0))) return;
    this.over.set(agent, until);
    this.endings.push({ agent, until, seq });
    this.settle(this.whole);
  }

  /** Says up to which event nothing is missing. */
  settle(whole: number): void {
    this.whole = whole;
    const due = this.endings.filter((ending) => ending.seq <= whole);
    if (due.length === 0) return;
    this.endings = this.endings.filter((ending) => ending.seq > whole);
    for (const [id, draft] of this.rows) {
      if (!due.some(({ agent, until }) => draft.agent === agent && draft.began <= until)) continue;
      this.rows.delete(id);
      this.version++;
      const next = this.anew.get(id);
      this.anew.delete(id);
      if (next) this.take(next, undefined);
    }
  }
}

const lengthOf = (draft: Draft): number =>
  draft.parts.reduce((sum, part) => sum + (part?.text.length ?? 0), 0);

/** A part with a delta's text in its place; undefined if it says nothing new. */
function extended(part: DraftPart | undefined, delta: Delta): DraftPart | undefined {
  const stretches = joined(part?.stretches ?? [], stretch(delta));
  if (!stretches && part) return undefined;
  const tool = delta.tool ?? part?.tool;
  return {
    kind: part?.kind ?? delta.kind,
    text: textOf(stretches ?? []),
    stretches: stretches ?? [],
    ...(tool === undefined ? {} : { tool }),
  };
}

/** Stretches with one more among them; undefined if all of it was there. Those that touch become one. */
function joined(before: readonly Stretch[], more: Stretch): Stretch[] | undefined {
  if (more.from === more.to) return undefined;
  if (before.some((each) => each.from <= more.from && more.to <= each.to)) return undefined;
  const apart = (each: Stretch) => each.to < more.from || more.to < each.from;
  const near = before.filter((each) => !apart(each));
  return [...before.filter(apart), near.reduce(united, more)].sort((a, b) => a.from - b.from);
}

/** Two stretches that touch or overlap as one. */
function united(one: Stretch, other: Stretch): Stretch {
  const [first, second] = one.from <= other.from ? [one, other] : [other, one];
  if (second.to <= first.to) return first;
  const skip = first.to - second.from;
  const rest =
    skip === 0 ? second.text : decoder.decode(encoder.encode(second.text).subarray(skip));
  return { from: first.from, to: second.to, text: first.text + rest };
}

function textOf(stretches: readonly Stretch[]): string {
  const text = stretches.map((each) => each.text).join(GAP);
  return (stretches[0]?.from ?? 0) > 0 ? GAP + text : text;
}

function stretch({ offset, text = '' }: Delta): Stretch {
  return { from: offset, to: offset + encoder.encode(text).length, text };
}
