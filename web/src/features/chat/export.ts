import { credentials } from '../../api/credential';
import { problemOf } from '../../api/problem';

/** Saves the whole conversation as a file. A plain link would not do: it cannot say who asks. */
export async function exportConversation(conversation: string): Promise<void> {
  const answer = await fetch(`/v1/conversations/${encodeURIComponent(conversation)}/export`, {
    headers: credentials(),
    credentials: 'same-origin',
  });
  if (!answer.ok) throw await problemOf(answer);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = `${conversation}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
