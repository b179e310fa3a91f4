import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { enter } from './api/credential';
import { router } from './shell/router';
import { followSystem } from './shell/theme';
import { TooltipProvider } from './ui/tooltip';
import './ui/styles/index.css';

const root = document.getElementById('root');
if (!root) throw new Error('the page has no place for the app');
const page = createRoot(root);

followSystem();
// Before anything else: the code of a link must not stay in the address.
void enter().then(() =>
  page.render(
    <StrictMode>
      <TooltipProvider>
        <RouterProvider router={router} />
      </TooltipProvider>
    </StrictMode>,
  ),
);
