import { useSyncExternalStore } from 'react';

// What a person opened or closed, by id. It outlives rows that leave the page, and a reload of it.

const listeners = new Set<() => void>();
const known = new Map<string, Disclosure>();

const place = (conversation: string) => `retinue.open.${conversation}`;

export class Disclosure {
  /** Grows with every change. */
  version = 0;
  /** What was open by itself stays open while the page lasts: a row does not shut under a reader. */
  private readonly seen = new Set<string>();

  private constructor(
    private readonly conversation: string,
    private readonly chosen: Map<string, boolean>,
  ) {}

  static of(conversation: string): Disclosure {
    let found = known.get(conversation);
    if (!found) {
      found = new Disclosure(conversation, read(conversation));
      known.set(conversation, found);
    }
    return found;
  }

  isOpen(id: string, byItself: boolean): boolean {
    const chosen = this.chosen.get(id);
    if (chosen !== undefined) return chosen;
    if (byItself) this.seen.add(id);
    return this.seen.has(id);
  }

  set(id: string, open: boolean): void {
    this.chosen.set(id, open);
    this.version++;
    try {
      sessionStorage.setItem(
        place(this.conversation),
        JSON.stringify([...this.chosen].slice(-500)),
      );
    } catch {
      // Storage is full or switched off: it lasts as long as the page.
    }
    for (const listener of listeners) listener();
  }

  /** Forgets what is in memory, as a reload does. For tests. */
  static forget(): void {
    known.clear();
  }
}

function read(conversation: string): Map<string, boolean> {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(place(conversation)) ?? '[]'));
  } catch {
    return new Map();
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What is open in a conversation. The component renders again when a person opens or closes something. */
export function useDisclosure(conversation: string): Disclosure {
  const disclosure = Disclosure.of(conversation);
  useSyncExternalStore(subscribe, () => disclosure.version);
  return disclosure;
}
