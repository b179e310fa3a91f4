import { lazy, Suspense, useState } from 'react';
import { useKeys } from '../../shell/keys/registry';

const FindBar = lazy(() => import('./bar').then(({ FindBar }) => ({ default: FindBar })));

/** Finds words in a conversation whose rows are not all in the page, so that the browser's own search cannot. */
export function Find({ conversation }: { conversation: string }) {
  const [open, setOpen] = useState(false);
  useKeys({
    'find.open': () => {
      const field = document.querySelector<HTMLInputElement>('[data-find]');
      // Asked twice, the browser's own search comes.
      if (field && document.activeElement === field) return false;
      setOpen(true);
      field?.focus();
      field?.select();
      return true;
    },
  });
  if (!open) return null;
  return (
    <Suspense>
      <FindBar conversation={conversation} onClose={() => setOpen(false)} />
    </Suspense>
  );
}
