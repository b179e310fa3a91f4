import { useEffect, useState } from 'react';

/** How long a card must have been there, unchanged and looked at, before it can be decided. */
export const ARM = 500;

/**
 * Whether what is on the screen may be acted on. It may not just after it appeared or changed, nor just after the window
 * came back to the front: the click that a hand had already begun was meant for something else.
 */
export function useArmed(what: string): boolean {
  const [armed, setArmed] = useState<string>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const begin = () => {
      clearTimeout(timer);
      setArmed(undefined);
      timer = setTimeout(() => setArmed(what), ARM);
    };
    begin();
    window.addEventListener('focus', begin);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('focus', begin);
    };
  }, [what]);
  return armed === what;
}
