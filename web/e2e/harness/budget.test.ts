// @vitest-environment node
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cheapest, within } from './budget.ts';

let told: string[] = [];

beforeEach(() => {
  told = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => told.push(String(text)) > 0);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const held = () => told.map((line) => JSON.parse(line.slice('figure '.length)).held);

describe('a budget', () => {
  it('of time is said, and held only where time is measured', () => {
    vi.stubEnv('TEST_RETINUE_MEASURE', '');
    within('opening', 900, 400);
    within('the last part', 9, 1.5, 'times');
    expect(held()).toEqual([false, false]);
    vi.stubEnv('TEST_RETINUE_MEASURE', '1');
    expect(() => within('opening', 900, 400)).toThrow(/opening takes 900.0 ms, more than 400/);
    expect(() => within('the last part', 9, 1.5, 'times')).toThrow(/more than 1.5/);
    within('opening', 399, 400);
  });

  it('of what is counted is held everywhere', () => {
    vi.stubEnv('TEST_RETINUE_MEASURE', '');
    expect(() => within('drift', 1, 0, 'px')).toThrow(/drift takes 1.0 px/);
    expect(() => within('the entry', 201, 200, 'KB')).toThrow(/more than 200/);
    expect(() => within('the page', 1_001, 1_000, 'elements')).toThrow(/more than 1000/);
    expect(held()).toEqual([true, true, true]);
  });

  it('that is not held needs one go', async () => {
    vi.stubEnv('TEST_RETINUE_MEASURE', '');
    const go = vi.fn(async () => 900);
    expect(await cheapest(400, go)).toEqual({ figure: 900, slower: 1 });
    expect(go).toHaveBeenCalledTimes(1);
  });
});
