import { Markdown } from '../../markdown/markdown';
import { useConversation } from '../../store/hooks';
import type { TaskRow } from '../../store/rows';
import { agentById } from '../../store/selectors';
import { cx } from '../../ui/classes';
import { roleName } from '../../ui/role';
import { useDisclosure } from './disclosure';

/** A longer task than this is folded. */
const LONG = 900;

/** What an agent was asked to do, by whom, and what counts as done. */
export function TaskCard({
  conversation,
  task,
  again,
}: {
  conversation: string;
  task: TaskRow;
  again: boolean;
}) {
  const [open, toggle] = useDisclosure(`${conversation} task ${task.id}`);
  const from = useConversation(conversation, (state) =>
    task.parent === undefined ? undefined : agentById(state, task.parent)?.role,
  );
  if (from === undefined) return null;
  const text = task.instruction ?? task.title ?? '';
  const long = text.length > LONG;
  return (
    <section
      aria-label="Task"
      className="overflow-hidden rounded-lg border border-line-strong border-dashed px-3 py-2"
    >
      <p className="font-medium text-fg-3 text-xs">
        {again ? 'Another task' : 'Task'} from {roleName(from)}
      </p>
      <div className={cx('task-text mt-1', long && !open && 'max-h-44 overflow-hidden')}>
        <Markdown text={text} />
      </div>
      {long && (
        <button
          type="button"
          aria-expanded={open}
          onClick={toggle}
          className="mt-1 rounded-sm text-accent text-sm hover:underline"
        >
          {open ? 'Show less' : 'Show all of it'}
        </button>
      )}
      {task.success_criteria && (
        <div className="task-text mt-2">
          <p className="font-medium text-fg-3 text-xs">Done when</p>
          <Markdown text={task.success_criteria} />
        </div>
      )}
      {task.files && task.files.length > 0 && (
        <ul aria-label="Begins with" className="mt-2 flex flex-wrap gap-1.5">
          {task.files.map((file) => (
            <li
              key={file}
              className="max-w-full truncate rounded-sm border px-1.5 font-mono text-fg-2 text-xs"
            >
              {file}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
