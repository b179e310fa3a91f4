import type { Ask } from '../../store/selectors';

/** Names what exactly is shown. An approval that is asked for anew with other content is another one. */
export const versionOf = (ask: Ask): string =>
  ask.kind === 'approval' ? `${ask.id} ${ask.approval.hash}` : ask.id;

export interface Shown {
  ask: Ask;
  /** Its place among what is listed, from one. */
  place: number;
  listed: readonly Ask[];
}

/**
 * What the dock shows: what it showed before as long as that is known, whether it still waits or not. Only a person
 * changes that. So nothing new takes the place of what somebody is reading or about to press.
 */
export function shownAsk(
  open: readonly Ask[],
  held: Ask | undefined,
  done: ReadonlySet<string>,
): Shown | undefined {
  const waiting = open.filter((ask) => !done.has(versionOf(ask)));
  const kept = held && !done.has(versionOf(held)) ? held : undefined;
  const listed =
    kept && !waiting.some((ask) => ask.id === kept.id)
      ? [...waiting, kept].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
      : waiting;
  const ask = listed.find((each) => each.id === kept?.id) ?? listed[0];
  return ask && { ask, place: listed.indexOf(ask) + 1, listed };
}

/** The neighbour of what is shown; the next one after the last is the first. */
export function neighbour(shown: Shown, step: 1 | -1): Ask {
  const { listed, place } = shown;
  return listed[(place - 1 + step + listed.length) % listed.length] ?? shown.ask;
}
