import { wordsOf } from './search';

// Marks words without touching what is drawn: the browser paints ranges. Rows come and go, so it looks again when they do.

let observer: MutationObserver | undefined;
let planned = 0;

/** Marks all words that are on the page in the conversation; none for an empty query. */
export function highlight(query: string): void {
  observer?.disconnect();
  observer = undefined;
  cancelAnimationFrame(planned);
  if (!('highlights' in CSS)) return;
  const words = wordsOf(query);
  const box = document.querySelector('[role="log"]');
  if (words.length === 0 || !box) return void CSS.highlights.delete('found');
  const paint = () => void CSS.highlights.set('found', new Highlight(...rangesOf(box, words)));
  paint();
  observer = new MutationObserver(() => {
    cancelAnimationFrame(planned);
    planned = requestAnimationFrame(paint);
  });
  observer.observe(box, { childList: true, subtree: true, characterData: true });
}

/** Every place in the text of an element where one of the words stands. */
export function rangesOf(box: Element, words: readonly string[]): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? '';
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
