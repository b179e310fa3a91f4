import { useCallback, useEffect, useState } from 'react';

/** Something that is read from the server while it is shown. */
export interface Read<T> {
  value?: T;
  error?: unknown;
  /** Reads it again; what was read before stays until then. */
  again: () => void;
}

/**
 * Reads something while it is shown, and forgets it when it is not. The key says what; another key is another thing.
 * Another version is the same thing, read again.
 */
export function useRead<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  version?: string,
): Read<T> {
  const [state, setState] = useState<{ key: string; value?: T; error?: unknown }>({ key });
  const [turn, setTurn] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is read, version and turn how often
  useEffect(() => {
    const ended = new AbortController();
    read(ended.signal).then(
      (value) => !ended.signal.aborted && setState({ key, value }),
      (error) => !ended.signal.aborted && setState({ key, error }),
    );
    return () => ended.abort();
  }, [key, version, turn]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  const { key: of, ...known } = state;
  return of === key ? { ...known, again } : { again };
}
