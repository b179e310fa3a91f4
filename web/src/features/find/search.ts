import { search } from '../../api/reads';
import type { ConversationState } from '../../store/conversation';
import { chatMessages } from '../../store/selectors';

/** How many the server is asked for. */
const MOST = 200;

/** The messages with all the words in them, oldest first, by their seq: those that are there, at once. */
export function findLoaded(state: ConversationState, query: string): number[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return chatMessages(state)
    .filter((message) => {
      const text = message.parts.map((p) => (p.kind === 'text' ? p.text : '')).join('\n');
      const lower = text.toLowerCase();
      return words.every((word) => lower.includes(word));
    })
    .map((message) => message.seq);
}

/** The same among all messages of the conversation, of which most may not be in the page. */
export async function findStored(
  conversation: string,
  q: string,
  signal: AbortSignal,
): Promise<number[]> {
  const { items } = await search({ q, conversation, limit: MOST }, { signal });
  return (items ?? []).map((hit) => hit.seq);
}

export const wordsOf = (query: string): string[] =>
  query.toLowerCase().split(/\s+/).filter(Boolean);

/** Both, oldest first and each once. */
export const joined = (a: readonly number[], b: readonly number[]): number[] =>
  [...new Set([...a, ...b])].sort((x, y) => x - y);
