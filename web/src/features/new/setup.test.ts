import { describe, expect, it } from 'vitest';
import type { Settings } from '../../api/installation';
import { ideasFor } from './ideas';
import { isSetUp, setupSteps } from './setup';

const settings = (more: Partial<Settings>): Settings => ({
  items: [],
  mode: 'local',
  providers: [],
  tiers: [],
  version: '1',
  ...more,
});
const provider = (name: string, has_key: boolean) => ({
  name,
  has_key,
  layer: 'default',
  wire: 'anthropic' as const,
});
const tier = (model: string) => ({ tier: 'fast' as const, layer: 'default', model });
const all = { live: true, files: { items: ['a.go'] }, conversations: 1 };

describe('setting up', () => {
  it('goes away when all is done, and not before', () => {
    const ready = settings({
      providers: [provider('anthropic', true)],
      tiers: [tier('anthropic/x')],
    });
    expect(isSetUp(setupSteps({ ...all, settings: ready }))).toBe(true);
    expect(isSetUp(setupSteps({ ...all, settings: ready, conversations: 0 }))).toBe(false);
    expect(isSetUp(setupSteps({ ...all, settings: ready, live: false }))).toBe(false);
    expect(
      isSetUp(setupSteps({ ...all, settings: ready, files: { items: [], reason: 'none' } })),
    ).toBe(false);
    expect(isSetUp(setupSteps({ ...all, settings: undefined }))).toBe(false);
  });
  it('wants the key of a provider that is used, not of any', () => {
    const wrong = settings({
      providers: [provider('anthropic', false), provider('other', true)],
      tiers: [tier('anthropic/x')],
    });
    expect(setupSteps({ ...all, settings: wrong })[1]?.done).toBe(false);
  });
  it('needs no provider in the demo, and has three ideas that its script plays', () => {
    expect(setupSteps({ ...all, settings: settings({ mode: 'demo' }) })[1]?.done).toBe(true);
    const plays = [/compare (\w+), (\w+) and (\w+)/i, /add a discount/i];
    for (const idea of ideasFor('demo'))
      expect(
        plays.some((rule) => rule.test(idea)),
        idea,
      ).toBe(true);
    expect([ideasFor('demo').length, ideasFor('local').length]).toEqual([3, 3]);
  });
});
