import { Fragment, type ReactNode } from 'react';

// Control characters, characters without width, and those that turn the direction of text. A command that holds one may
// not be what it looks like.
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\uffa0]|[\ufe00-\ufe0f]|[\u{e0000}-\u{e0fff}])/u;

const name = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

// What joins the parts of an emoji or the letters of scripts that need it, the end of a line of
// Windows, and the narrow space of numbers: in running text they are no disguise.
const harmless =
  /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)(?:\ufe0e|\ufe0f|\u200d)|(?<=\p{Extended_Pictographic}\ufe0f)\u200d|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Sinhala}\p{Script=Malayalam}])(?:\u200c|\u200d)|(?<=[\d#*])\ufe0f(?=\u20e3)|\r(?=\n)|\u202f/gu;

/** A text in which nothing is hidden: what cannot be seen is written as its number. */
export function Visible({ text }: { text: string }): ReactNode {
  return pieces(text.split(new RegExp(hidden, 'gu')));
}

/** The same for running text, where what belongs to a letter or a picture is left with it. */
export function visible(text: string): ReactNode {
  if (!hidden.test(text)) return text;
  const parts: string[] = [];
  let from = 0;
  const kept = new Set([...text.matchAll(harmless)].map(({ index }) => index));
  for (const { 0: found, index } of text.matchAll(new RegExp(hidden, 'gu'))) {
    if (kept.has(index)) continue;
    parts.push(text.slice(from, index), found);
    from = index + found.length;
  }
  return parts.length === 0 ? text : pieces([...parts, text.slice(from)]);
}

/** Every other piece, beginning with the second, is a hidden character. */
const pieces = (all: readonly string[]): ReactNode =>
  all.map((piece, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other name
      <mark key={index} data-s="failed" className="st st-bg st-fg rounded-sm px-0.5 text-2xs">
        {name(piece)}
      </mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other name
      <Fragment key={index}>{piece}</Fragment>
    ),
  );
