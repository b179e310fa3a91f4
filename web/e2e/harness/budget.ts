// What a page costs, in time of its main thread: how busy the machine is does not change it.

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { painted } from './shot.ts';
import { FIGURE } from './table.ts';
import { theBrowser } from './visit.ts';
import { slowness } from './yardstick.ts';

/** A watch that runs while the page's thread works, in milliseconds. */
export async function threadClock(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const found = metrics.find((metric) => metric.name === 'TaskDuration');
    assert.ok(found, 'the browser has no TaskDuration');
    return found.value * 1000;
  };
}

/** What something cost, and how much slower than a quiet one the machine was on which it did. */
export interface Cost {
  figure: number;
  slower: number;
}

/** Whether budgets of time are checked. Elsewhere times are only reported, because they depend on other users of the machine. */
export const measuring = (): boolean => process.env.TEST_RETINUE_MEASURE === '1';

/** Units of what a clock gave, or of what was made of it. All others are counted, and the same everywhere. */
const clocked = new Set(['ms', 'times']);

/** Says what a figure was, and holds it against its budget: one of time only where time is measured. */
export function within(what: string, cost: Cost | number, budget: number, unit = 'ms'): void {
  const { figure, slower } = typeof cost === 'number' ? { figure: cost, slower: 1 } : cost;
  const held = !clocked.has(unit) || measuring();
  process.stdout.write(
    `${FIGURE}${JSON.stringify({ what, figure, budget, unit, slower, held })}\n`,
  );
  if (!held) return;
  const bound = slower > 1 ? `${budget} on a machine ${slower.toFixed(2)} x slower` : `${budget}`;
  const text = `${what} takes ${figure.toFixed(1)} ${unit}, more than ${bound}`;
  assert.ok(figure <= budget * slower, text);
}

/** How often something is measured at most, and how long neighbours are given to become quieter. */
const GOES = 12;
const PAUSE = 1_500;

/** So many goes must have been over the budget before the machine is to blame. */
const PATIENT = 4;

/**
 * What something costs: the least of several goes, since neighbours on the machine only ever add. The first one that
 * fits will do. If none of the first few does, the machine may be slow: beside each go a page is scrolled that has nothing
 * of ours, and the budget, which is for a quiet machine, is as much larger as the least of that is. Where time is not held
 * against budgets, there is one go.
 */
export async function cheapest(budget: number, go: () => Promise<number>): Promise<Cost> {
  let figure = await go();
  if (!measuring()) return { figure, slower: 1 };
  let slower = Number.POSITIVE_INFINITY;
  for (let goes = 1; figure > budget && goes < GOES; goes++) {
    slower = Math.min(slower, await slowness(await theBrowser(), threadClock));
    if (goes >= PATIENT && figure <= budget * slower) break;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    figure = Math.min(figure, await go());
  }
  return { figure, slower: figure <= budget ? 1 : slower };
}

/** What it costs to open a conversation from the list, in a tab of its own. */
export async function openingCost(page: Page, title: RegExp, shown: Locator): Promise<number> {
  const link = page.getByRole('link', { name: title });
  await link.waitFor();
  const clock = await threadClock(page);
  const before = await clock();
  await link.click();
  await shown.waitFor();
  await painted(page);
  return (await clock()) - before;
}

/** Scrolls the transcript by so many steps, one a frame. */
export function scroll(page: Page, steps: number, by: number): Promise<void> {
  return page.getByRole('log').evaluate(
    (box, { steps, by }) =>
      new Promise<void>((resolve) => {
        let done = 0;
        const step = () => {
          box.scrollTop += by;
          if (++done < steps) requestAnimationFrame(step);
          else requestAnimationFrame(() => resolve());
        };
        requestAnimationFrame(step);
      }),
    { steps, by },
  );
}

/** What a frame of scrolling costs: up, down, and so on. The pointer is elsewhere: a row lights up under it. */
export async function frameCost(page: Page, budget: number): Promise<Cost> {
  const frames = 120;
  await page.mouse.move(5, 5);
  const clock = await threadClock(page);
  let by = 60;
  return cheapest(budget, async () => {
    by = -by;
    const before = await clock();
    await scroll(page, frames, by);
    return ((await clock()) - before) / frames;
  });
}

/** Where a row is in the transcript: the one with this key, or the first that can be seen whole. */
export async function anchor(page: Page, key?: string): Promise<{ key: string; at: number }> {
  const found = await page.getByRole('log').evaluate((box, key) => {
    const top = box.getBoundingClientRect().top;
    return [...box.querySelectorAll<HTMLElement>('[data-key]')]
      .map((row) => ({ key: row.dataset.key ?? '', at: row.getBoundingClientRect().top - top }))
      .filter((row) => (key === undefined ? row.at >= 0 : row.key === key))
      .sort((a, b) => a.at - b.at)[0];
  }, key);
  assert.ok(found, `the row ${key ?? 'at the top'} is not there`);
  return found;
}
