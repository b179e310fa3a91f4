import { createContext, useContext } from 'react';
import { getText } from './reads';

/** The conversation that is shown. Texts that were kept belong to it. */
export const Within = createContext('');

/** Reads a kept text of the conversation that is shown. */
export function useTexts() {
  const conversation = useContext(Within);
  return (hash: string, reading?: { signal?: AbortSignal }) => getText(conversation, hash, reading);
}
