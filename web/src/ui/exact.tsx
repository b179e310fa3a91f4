import { Fragment } from 'react';
import { Visible } from './visible';

// Padding pushes what follows out of sight. It is written as its length.
const padding = /( {24,}|\t{6,}|(?:[ \t]*\r?\n){6,})/;

function nameOf(run: string): string {
  const ends = run.split('\n').length - 1;
  if (ends > 0) return `${ends - 1} empty lines`;
  return `${run.length} ${run.startsWith('\t') ? 'tabs' : 'spaces'}`;
}

/** A text that a person decides about: nothing in it is hidden, neither by characters that cannot be seen nor by padding. */
export function Exact({ text }: { text: string }) {
  return text.split(padding).map((piece, index) =>
    padding.test(piece) ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other name
      <Fragment key={index}>
        {piece.includes('\n') && '\n'}
        <mark data-s="failed" className="st st-bg st-fg rounded-sm px-1 text-2xs">
          {nameOf(piece)}
        </mark>
        {piece.includes('\n') ? '\n' : ' '}
      </Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of one text have no other name
      <Visible key={index} text={piece} />
    ),
  );
}
