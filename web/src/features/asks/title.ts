// How much waits, in the title of the page and on its icon. Pages set their titles as they like; the number goes before.

const number = /^\(\d+\) /;

export function titled(title: string, waiting: number): string {
  const plain = title.replace(number, '');
  return waiting > 0 ? `(${waiting}) ${plain}` : plain;
}

/** Keeps the number before the title until the result is called. */
export function countInTitle(waiting: number): () => void {
  const write = () => {
    const wanted = titled(document.title, waiting);
    if (document.title !== wanted) document.title = wanted;
  };
  write();
  const watcher = new MutationObserver(write);
  watcher.observe(document.head, { childList: true, subtree: true, characterData: true });
  return () => watcher.disconnect();
}

const icons = {
  calm: '/favicon.svg',
  waiting: new URL('./waiting.svg', import.meta.url).pathname,
} as const;

/** Shows on the icon of the tab whether something waits. */
export function markIcon(waiting: boolean): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const wanted = icons[waiting ? 'waiting' : 'calm'];
  if (icon && icon.getAttribute('href') !== wanted) icon.setAttribute('href', wanted);
}
