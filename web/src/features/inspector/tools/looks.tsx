import {
  BotMessageSquare,
  Brain,
  FilePen,
  FilePlus,
  FileText,
  Flag,
  Folder,
  Globe,
  Image,
  ListChecks,
  type LucideIcon,
  MessageCircleQuestion,
  Plug,
  Search,
  Terminal,
} from 'lucide-react';
import type { ToolStatus } from '../../../api/types';
import type { Shown } from '../../../ui/status';
import { kindOf, type ToolKind } from './kinds';

const icons: Record<ToolKind, LucideIcon> = {
  shell: Terminal,
  edit: FilePen,
  write: FilePlus,
  read: FileText,
  search: Search,
  fetch: Globe,
  spawn: BotMessageSquare,
  ask: MessageCircleQuestion,
  submit: Flag,
  think: Brain,
  todo: ListChecks,
  other: Plug,
};

export const toolIcon = (tool: string): LucideIcon => {
  if (tool === 'list_dir') return Folder;
  if (tool === 'read_image') return Image;
  return icons[kindOf(tool)];
};

// The compiler sees to it that every status of the wire is here.
const statuses: Record<ToolStatus, { shown: Shown; word: string }> = {
  pending: { shown: 'queued', word: 'Not begun' },
  waiting_approval: { shown: 'waiting_approval', word: 'Needs approval' },
  running: { shown: 'running', word: 'Running' },
  completed: { shown: 'completed', word: 'Done' },
  failed: { shown: 'failed', word: 'Failed' },
  denied: { shown: 'cancelled', word: 'Denied' },
  cancelled: { shown: 'cancelled', word: 'Cancelled' },
  timed_out: { shown: 'timed_out', word: 'Timed out' },
  skipped: { shown: 'cancelled', word: 'Skipped' },
  indeterminate: { shown: 'failed', word: 'Nobody knows whether it was done' },
};

export const toolStatus = (status: ToolStatus): { shown: Shown; word: string } => statuses[status];
