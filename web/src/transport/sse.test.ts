import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader } from './sse';

const text =
  'retry: 1500\n\nid: 1\nevent: a\ndata: {"x":"é✓"}\n\n: still here\n\nid: 2\r\nevent: b\r\ndata: one\r\ndata: two\r\n\r\ndata: last\n\n';
const frames = [
  { id: '1', event: 'a', data: '{"x":"é✓"}' },
  { id: '2', event: 'b', data: 'one\ntwo' },
  { id: '', event: 'message', data: 'last' },
];

describe('FrameReader', () => {
  it('gives the same frames wherever the bytes are cut', () => {
    const bytes = new TextEncoder().encode(text);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        const reader = new FrameReader();
        const got = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const end = at + (sizes[turn % sizes.length] ?? 1);
          got.push(...reader.push(bytes.subarray(at, end)));
          at = end;
        }
        expect(got).toEqual(frames);
        expect(reader.retry).toBe(1500);
      }),
    );
  });

  it('keeps what is not whole to itself', () => {
    const reader = new FrameReader();
    expect(reader.push(new TextEncoder().encode('id: 9\ndata: half\n'))).toEqual([]);
  });
});
