// How much slower this machine is at the moment than one that has nothing else to do.

import type { Browser, Page } from 'playwright-core';

/**
 * What a frame of the page below costs on a quiet machine: the least of twelve goes was 2.8 ms, the most 3.5. A frame of
 * 1,000 agents cost 3.0 there; elsewhere, and with neighbours, 1.0 to 1.25 times as much as one of this page.
 */
const QUIET = 3;

/** A machine that is slower than this says nothing about the app. */
const SLOWEST = 2;

const FRAMES = 120;

const page = `<!doctype html><title>Yardstick</title>
<style>
  #box { height: 800px; overflow: auto; font: 14px sans-serif }
  #rows { height: 40000px }
  #rows div { display: flex; gap: 8px; padding: 6px; border: 1px solid #ccc }
</style>
<div id="box"><div id="rows"></div></div>`;

/**
 * How many times dearer than on a quiet machine it is to scroll a list that has nothing of ours: rows come at its end and
 * go at its beginning, frame by frame. At least one.
 */
export async function slowness(
  browser: Browser,
  clockOf: (page: Page) => Promise<() => Promise<number>>,
): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const bare = await context.newPage();
    await bare.setContent(page);
    await scrollRows(bare, FRAMES / 4); // the first frames are dearer
    const clock = await clockOf(bare);
    const before = await clock();
    await scrollRows(bare, FRAMES);
    const frame = ((await clock()) - before) / FRAMES;
    return Math.min(SLOWEST, Math.max(1, frame / QUIET));
  } finally {
    await context.close();
  }
}

function scrollRows(page: Page, frames: number): Promise<void> {
  return page.evaluate(
    (frames) =>
      new Promise<void>((resolve) => {
        const [box, rows] = [document.querySelector('#box'), document.querySelector('#rows')];
        if (!box || !rows) throw new Error('the page is not there');
        let done = 0;
        const step = () => {
          for (let row = 0; row < 3; row++) {
            const added = document.createElement('div');
            for (let word = 0; word < 8; word++) {
              const span = document.createElement('span');
              span.textContent = `word ${done * 7 + row + word}`;
              added.append(span);
            }
            rows.append(added);
          }
          while (rows.childElementCount > 40) rows.firstElementChild?.remove();
          box.scrollTop = done % 2 ? 20 : 40;
          if (++done < frames) requestAnimationFrame(step);
          else requestAnimationFrame(() => resolve());
        };
        requestAnimationFrame(step);
      }),
    frames,
  );
}
