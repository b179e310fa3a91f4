import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { log } from './harness/chat.ts';
import { payloads, wrapped, wrappedOnce } from './harness/payloads.ts';
import { gateOnly, stage } from './harness/scenario.ts';
import { shot } from './harness/shot.ts';

// Each payload stands in each wrapper, under a number of its own. The gate takes each payload once, all wrappers in turn.
const texts = gateOnly ? wrappedOnce(payloads) : wrapped(payloads);
const least = gateOnly ? 50 : 300;
const cases = texts.map((text, at) => `case-${at}-begins\n\n${text}\n\ncase-${at}-ends`);
const perMessage = 80;
const messages = Array.from({ length: Math.ceil(cases.length / perMessage) }, (_, at) =>
  cases.slice(at * perMessage, (at + 1) * perMessage).join('\n\n'),
);

/** A text of a script, in which a dollar sign and a brace would be a name. */
const quoted = (text: string): string => JSON.stringify(text.replaceAll('${', '$${'));

const scenario = stage({
  files: { 'hostile.txt': cases.join('\n') },
  script: `
name: hostile
chunk: 400
pace: 1ms
rules:
${messages.map((text, at) => `  - {name: m${at}, when: {text: 'part ${at}$'}, reply: {text: ${quoted(text)}}}`).join('\n')}
  - {name: read, when: {turn: 0, text: 'read'}, reply: {calls: [{tool: read_file, args: {path: hostile.txt}}]}}
default: {text: 'It was read.'}
`,
});

/** What must not be in a page, no matter who wrote the text. */
const forbidden =
  'script, iframe, object, embed, base, meta[http-equiv], form[action], img[src], video, audio, source, link[href]:not([href^="/"]), ' +
  '[onerror], [onload], [onclick], [onfocus], [onmouseover], [style*="url("], a[href^="javascript" i], a[href^="data" i], a[href^="vbscript" i], a[href^="file" i]';

async function found(box: Locator): Promise<string[]> {
  return box.evaluate(
    (element, bad) =>
      [...element.querySelectorAll(bad)].map((each) => each.outerHTML.slice(0, 200)),
    forbidden,
  );
}

// What a reader would not see: a text that holds one may not be what it looks like.
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e0fff}]/gu;

const nameOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** The names of all that is hidden in the texts. */
const hidden = new Set(cases.flatMap((text) => text.match(unseen) ?? []).map(nameOf));

/** What is hidden on the screen, and what of it is written out. */
async function hiddenIn(box: Locator): Promise<{ hidden: string[]; named: string[] }> {
  const text = (await box.textContent()) ?? '';
  return {
    hidden: (text.match(unseen) ?? []).map((each) => `hidden: ${nameOf(each)}`),
    named: text.match(/U\+[0-9A-F]{4,5}/g) ?? [],
  };
}

/** Reads a conversation from its beginning to its end, and gives the numbers of the cases that were seen. */
async function readThrough(page: Page, look: () => Promise<void>): Promise<Set<number>> {
  const seen = new Set<number>();
  await log(page).evaluate((box) => {
    box.scrollTop = 0;
  });
  for (let stuck = 0; stuck < 3; ) {
    const { text, moved } = await log(page).evaluate(
      (box) =>
        new Promise<{ text: string; moved: boolean }>((resolve) => {
          // Two frames after it was scrolled, everything that is seen there is drawn.
          const read = () => {
            const before = box.scrollTop;
            const text = box.textContent ?? '';
            box.scrollTop += box.clientHeight * 0.8;
            resolve({ text, moved: box.scrollTop > before + 1 });
          };
          requestAnimationFrame(() => requestAnimationFrame(read));
        }),
    );
    for (const match of text.matchAll(/case-(\d+)-ends/g)) seen.add(Number(match[1]));
    await look();
    stuck = moved ? 0 : stuck + 1;
  }
  return seen;
}

scenario(
  `${cases.length} hostile texts of a model: nothing runs, nothing leaves`,
  { gate: 'hostile' },
  async ({ server, visit }) => {
    assert.ok(cases.length >= least, `${cases.length}`);
    const person = await visit();
    const bad: string[] = [];
    const seen = new Set<number>();
    const named = new Set<string>();
    for (const at of messages.keys()) {
      const id = await server.open(`part ${at}`);
      const page = await person.tab(`/c/${id}`);
      // Also while it comes, when half of it is there.
      await server.settled(id);
      const last = Math.min((at + 1) * perMessage, cases.length) - 1;
      await log(page).getByText(`case-${last}-ends`).waitFor();
      const read = await readThrough(page, async () => {
        const looks = await hiddenIn(log(page));
        bad.push(...(await found(log(page))), ...looks.hidden);
        for (const each of looks.named) named.add(each);
      });
      for (const each of read) seen.add(each);
      if (at === 0) await shot(page, 'hostile');
      await page.close();
    }
    assert.deepEqual([...new Set(bad)], []);
    assert.ok(hidden.size >= 7, [...hidden].join());
    assert.deepEqual(
      [...hidden].filter((each) => !named.has(each)),
      [],
      'not written out',
    );
    const missing = cases.map((_, at) => at).filter((at) => !seen.has(at));
    assert.ok(missing.length === 0, `these were never shown: ${missing.join(' ')}`);
  },
);

scenario('the same as the output of a tool, in the inspector', async ({ server, visit }) => {
  const id = await server.open('please read');
  await server.settled(id);
  const page = await (await visit()).tab(`/c/${id}?agent=main`);
  const panel = page.locator('[data-region="inspector"]').first();
  await panel.waitFor();
  const row = panel.getByRole('button', { name: /read/i }).first();
  await row.waitFor();
  await row.click();
  await panel
    .getByText(/case-0-begins/)
    .first()
    .waitFor();
  assert.deepEqual([...(await found(panel)), ...(await hiddenIn(panel)).hidden], []);
});
