import { explain } from '../../api/problem';
import { getText } from '../../api/reads';
import { useRead } from '../../api/useread';
import { taskById } from '../../store/askselectors';
import { useConversation } from '../../store/hooks';
import { DiffView } from '../../ui/diff';
import { DiffCounts } from '../../ui/diffcounts';
import { counts, patchLines } from '../../ui/difflines';
import { Exact } from '../../ui/exact';

/** The files that a merge would change, and the patch itself where it is known. */
export function PatchView({
  conversation,
  task,
  files,
}: {
  conversation: string;
  task: string;
  files: readonly string[];
}) {
  const kept = useConversation(conversation, (state) => taskById(state, task)?.patch?.text);
  return (
    <>
      <ul className="wrap-anywhere px-3 py-2 font-mono text-xs">
        {files.map((file) => (
          <li key={file}>
            <Exact text={file} />
          </li>
        ))}
      </ul>
      {kept && <Kept conversation={conversation} hash={kept} />}
    </>
  );
}

function Kept({ conversation, hash }: { conversation: string; hash: string }) {
  const { value, error } = useRead(`${conversation} ${hash}`, (signal) =>
    getText(conversation, hash, { signal }),
  );
  if (error !== undefined) {
    return (
      <p className="border-t px-3 py-2 text-fg-2 text-xs">
        The changes cannot be shown: {explain(error).what}.
      </p>
    );
  }
  if (!value) return null;
  const lines = patchLines(value.text);
  return (
    <section aria-label="The changes" className="border-t">
      <p className="px-3 pt-1.5">
        <DiffCounts {...counts(lines)} />
      </p>
      <DiffView lines={lines} />
    </section>
  );
}
