import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/react-virtual';
import { useLayoutEffect, useReducer, useRef, useState } from 'react';
import { flushSync } from 'react-dom';

export type List = Virtualizer<HTMLDivElement, Element>;

type Options = VirtualizerOptions<HTMLDivElement, Element>;

/** What a list of rows is told. The rest is the same for every box that scrolls. */
export type ListOptions = Omit<
  Options,
  'observeElementRect' | 'observeElementOffset' | 'scrollToFn' | 'onChange'
>;

/** Rows from the beginning at which the reader is near it. */
const NEAR_BEGINNING = 4;

export const nearBeginning = (list: List): boolean =>
  list.scrollOffset !== null &&
  (list.range?.startIndex ?? Number.POSITIVE_INFINITY) <= NEAR_BEGINNING;

/** The rows that are drawn, up to the one before the end, and the room above them. */
export interface Drawn {
  first: number;
  end: number;
  above: number;
}

export function drawn(list: List): Drawn {
  const items = list.getVirtualItems();
  const first = items[0]?.index ?? 0;
  return { first, end: first + items.length, above: items[0]?.start ?? 0 };
}

/**
 * A list that draws only those of its rows that are seen, and a few more. A component that uses it is drawn again when other rows
 * are to be drawn or they have moved; the library's own hook does so for each row that comes into sight, also for one
 * that has been drawn ahead.
 */
export function useList(options: ListOptions): List {
  const redraw = useReducer((times: number) => times + 1, 0)[1];
  const shown = useRef<readonly unknown[]>([]);
  const measuring = useRef(false);
  const all: Options = {
    ...options,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: (list, sync) => {
      if (looks(list).every((part, at) => part === shown.current[at])) return;
      // A row is measured while React puts it into the page, where nothing can be drawn in between.
      if (sync && !measuring.current) flushSync(redraw);
      else redraw();
    },
  };
  const [list] = useState(() => measuredIn(new Virtualizer(all), measuring));
  list.setOptions(all);
  const now = looks(list);
  useLayoutEffect(() => list._didMount(), [list]);
  useLayoutEffect(() => {
    shown.current = now;
    list._willUpdate();
  });
  return list;
}

/** All that a list says which changes what is drawn. */
const looks = (list: List): readonly unknown[] => [
  ...Object.values(drawn(list)),
  list.getTotalSize(),
  nearBeginning(list),
];

/** Notes when the list is measuring a row. */
function measuredIn(list: List, measuring: { current: boolean }): List {
  const measure = list.measureElement;
  list.measureElement = (row) => {
    measuring.current = true;
    try {
      measure(row);
    } finally {
      measuring.current = false;
    }
  };
  return list;
}
