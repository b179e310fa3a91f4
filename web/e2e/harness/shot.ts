// Pictures for eyes, and what a program can say about how accessible a state is.

import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { shots } from './shots.ts';
import { until } from './until.ts';

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;
const schemes = ['dark', 'light'] as const;

/** What was taken since the scenario began. */
let taken: string[] = [];

export function beginShots(): void {
  taken = [];
}

export const anyShots = (): boolean => taken.length > 0;

/** The pictures of this scenario. It fails if there are none, or not one for each size and theme. */
export function takenShots(): readonly string[] {
  const whole = sizes.length * schemes.length;
  assert.ok(taken.length > 0 && taken.length % whole === 0, `${taken.length} pictures were taken`);
  for (const place of taken) assert.ok(statSync(place).size > 0, place);
  return taken;
}

/** A name as a file can have it. */
export const fileName = (text: string): string =>
  text.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '');

/** Takes a state in both sizes and both themes, and looks for violations in each of the four. */
export async function shot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true });
  const before = page.viewportSize();
  const found: string[] = [];
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      await painted(page);
      const place = join(shots, `${name}-${size.width}-${colorScheme}.png`);
      await page.screenshot({ path: place, animations: 'disabled', caret: 'hide' });
      for (const each of await violations(page))
        found.push(`${size.width} ${colorScheme}: ${each}`);
      taken.push(place);
    }
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  if (before) await page.setViewportSize(before);
  await painted(page);
  assert.deepEqual(found, [], `${name} is not accessible`);
}

/** What axe finds, each with where it is. */
export async function violations(page: Page): Promise<string[]> {
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: run } = globalThis as unknown as { axe: typeof axe };
    return (await run.run(document, { resultTypes: ['violations'] })).violations;
  });
  return found.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id} at ${node.target.join(' ')}: ${node.html.slice(0, 200)}`),
  );
}

/** Waits until a page shows what it is about, and nothing stands in for what is still being read. */
export async function loaded(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await until('nothing is being read', () =>
    page.evaluate(() => document.querySelector('[data-loading]') === null),
  );
  await painted(page);
}

/** Two frames later everything that was decided is drawn. */
export function painted(page: Page): Promise<void> {
  return page.evaluate(
    () =>
      new Promise<void>((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(() => resolve())),
      ),
  );
}
