import { describe, expect, it } from 'vitest';
import type { TaskRow } from '../store/rows';
import { Endings, firstSentence } from './tell';

const task = (id: string, status: TaskRow['status']) => ({ id, status }) as TaskRow;

describe('endings', () => {
  it('are told once, and not those from before', () => {
    const endings = new Endings();
    expect(endings.since([task('a', 'completed'), task('b', 'running')])).toEqual([]);
    expect(endings.since([task('a', 'completed'), task('b', 'failed')]).map((t) => t.id)).toEqual([
      'b',
    ]);
    expect(endings.since([task('a', 'completed'), task('b', 'failed')])).toEqual([]);
  });
});

describe('the first sentence', () => {
  it('is plain and short', () => {
    expect(firstSentence('**Done.** And more.')).toBe('Done.');
    expect(firstSentence('Version 1.2 is out. Next')).toBe('Version 1.2 is out.');
    expect(firstSentence('a'.repeat(300))).toHaveLength(200);
  });
});
