import { act, render } from '@testing-library/react';
import { useMemo, useRef } from 'react';
import { expect, it } from 'vitest';
import { AHEAD, BEYOND, drawnFor } from './drawn';
import { drawn, type List, nearBeginning, useList } from './list';

const HIGH = 40;
const SEEN = 10;

/** A list of many rows, all as high as was guessed, with what it shows and how often it was drawn. */
function begin() {
  const seen = { times: 0, list: undefined as unknown as List };
  function Rows() {
    const box = useRef<HTMLDivElement>(null);
    const list = useList({
      count: 1_000,
      getScrollElement: () => box.current,
      estimateSize: () => HIGH,
      rangeExtractor: useMemo(drawnFor, []),
    });
    seen.times++;
    seen.list = list;
    const sized = (element: HTMLDivElement | null) => {
      box.current = element;
      for (const [name, value] of [
        ['offsetHeight', SEEN * HIGH],
        ['clientHeight', SEEN * HIGH],
        ['scrollHeight', 1_000 * HIGH],
      ] as const)
        if (element) Object.defineProperty(element, name, { value, configurable: true });
    };
    return <div ref={sized} data-first={drawn(list).first} data-near={nearBeginning(list)} />;
  }
  const box = render(<Rows />).container.firstElementChild as HTMLDivElement;
  const to = (row: number): number => {
    const before = seen.times;
    act(() => {
      box.scrollTop = row * HIGH;
      box.dispatchEvent(new Event('scroll'));
    });
    return seen.times - before;
  };
  return { seen, box, to };
}

it('is drawn again when other rows are to be drawn, not for each that comes into sight', () => {
  const { seen, box, to } = begin();
  to(500);
  expect(drawn(seen.list)).toEqual({
    first: 500 - AHEAD,
    end: 500 + SEEN + AHEAD,
    above: (500 - AHEAD) * HIGH,
  });
  for (let row = 500; row <= 500 + AHEAD - BEYOND; row++) expect(to(row)).toBe(0);
  expect(to(500 + AHEAD - BEYOND + 1)).toBe(1);
  expect(box.dataset.first).toBe(String(drawn(seen.list).first));
});

it('is drawn again when the reader comes near the beginning, though the rows are there', () => {
  const { seen, box, to } = begin();
  to(AHEAD);
  expect(drawn(seen.list).first).toBe(0);
  expect(box.dataset.near).toBe('false');
  to(2);
  expect(box.dataset.near).toBe('true');
  to(AHEAD);
  expect(box.dataset.near).toBe('false');
});
