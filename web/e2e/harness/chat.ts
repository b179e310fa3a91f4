// What people see of a conversation, by the names that it has on the screen.

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from './until.ts';

export const log = (page: Page): Locator => page.getByRole('log', { name: 'Conversation' });

/** The row of a task: who does what. */
export const task = (page: Page, name: string): Locator =>
  log(page).getByRole('region', { name, exact: true });

export const composer = (page: Page): Locator => page.getByLabel('Message the orchestrator');

/** Where everything is that waits for a person. */
export const dock = (page: Page): Locator =>
  page.getByRole('region', { name: /^Waiting for you/ }).first();

export const button = (within: Page | Locator, name: RegExp | string): Locator =>
  within.getByRole('button', { name });

/** The inspector of one agent. */
export const inspector = (page: Page): Locator => page.locator('[data-region="inspector"]');

/** Waits until it is there, and fails if it is there more often than once. */
export async function once(what: Locator): Promise<void> {
  await what.first().waitFor();
  assert.equal(await what.count(), 1, `${what} is there more than once`);
}

/** Waits until a field has nothing in it: what it held was sent. */
export async function emptied(field: Locator): Promise<void> {
  await until(`${field} is empty`, async () => (await field.inputValue()) === '');
}
