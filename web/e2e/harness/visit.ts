// A person with a browser: one context, its tabs, and everything that must not happen in them.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Server } from './server.ts';
import { fileName } from './shot.ts';
import { shots } from './shots.ts';
import { PATIENCE } from './until.ts';

const flags =
  '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

let browser: Promise<Browser> | undefined;

/** The browser that all visits of a file share. */
export function theBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: flags.split(' '),
  });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

export interface Looks {
  width?: number;
  height?: number;
  scheme?: 'dark' | 'light';
  /** Motion is off unless a scenario is about it. */
  motion?: boolean;
  scale?: number;
  touch?: boolean;
  /** The code of a link of one's own, or none. */
  code?: string;
}

export class Visit {
  /** What must not happen: refused by the policy, thrown, or sent elsewhere. */
  readonly offences: string[] = [];
  /** What a scenario brings about on purpose and the browser complains of, such as a server that is gone. */
  readonly expected: RegExp[] = [];
  readonly server: Server;
  readonly context: BrowserContext;
  private code: string;

  private constructor(server: Server, context: BrowserContext, code: string) {
    this.server = server;
    this.context = context;
    this.code = code;
  }

  static async begin(server: Server, looks: Looks = {}): Promise<Visit> {
    const context = await (await theBrowser()).newContext({
      viewport: { width: looks.width ?? 1440, height: looks.height ?? 900 },
      colorScheme: looks.scheme ?? 'dark',
      reducedMotion: looks.motion ? 'no-preference' : 'reduce',
      locale: 'en-GB',
      timezoneId: 'UTC',
      ...(looks.scale ? { deviceScaleFactor: looks.scale } : {}),
      ...(looks.touch ? { hasTouch: true } : {}),
    });
    context.setDefaultTimeout(PATIENCE);
    const visit = new Visit(server, context, looks.code ?? (await server.link()));
    await visit.guard();
    return visit;
  }

  /** Opens a tab. The first one brings the code in the address, as the one that `retinue up` prints does. */
  async tab(path = '/'): Promise<Page> {
    const page = await this.context.newPage();
    const fragment = this.code ? `#code=${this.code}` : '';
    this.code = '';
    await page.goto(this.server.url + path + fragment);
    return page;
  }

  /** Opens the link that the server printed when it was started again, in a tab of its own. */
  async signIn(): Promise<void> {
    this.code = await this.server.link();
    const page = await this.tab('/settings');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.close();
  }

  /** Takes what is on the screens, for the person who looks into a failure. */
  async picture(name: string): Promise<void> {
    for (const [at, page] of this.context.pages().entries()) {
      const path = join(shots, `${fileName(`${name} ${at}`)}.png`);
      await page.screenshot({ path, timeout: 10_000 }).catch(() => undefined);
    }
  }

  /** Closes everything, and fails if anything happened that must not. */
  async end(): Promise<void> {
    await this.context.close();
    const left = this.offences.filter((each) => !this.expected.some((known) => known.test(each)));
    assert.deepEqual(left, [], 'something happened in the browser that must not');
  }

  private async guard(): Promise<void> {
    const note = (what: string) => this.offences.push(what);
    await this.context.exposeBinding('__violated', (_, what: string) => note(`policy: ${what}`));
    await this.context.addInitScript(() => {
      const told = globalThis as unknown as { __violated: (what: string) => void };
      addEventListener('securitypolicyviolation', (event) =>
        told.__violated(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
      );
    });
    this.context.on('weberror', (error) => note(`thrown: ${error.error()}`));
    this.context.on('console', (message) => {
      if (message.type() === 'error') note(`console: ${message.text()} ${message.location().url}`);
    });
    this.context.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${this.server.url}/`)) note(`elsewhere: ${url}`);
    });
    this.context.on('dialog', (dialog) => {
      note(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }
}
