import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { takeToken } from './api/credential';
import { router } from './shell/router';
import { followSystem } from './shell/theme';
import { TooltipProvider } from './ui/tooltip';
import './ui/styles/index.css';

// Before anything else: the token must not stay in the address.
takeToken();
followSystem();

const root = document.getElementById('root');
if (!root) throw new Error('the page has no place for the app');
createRoot(root).render(
  <StrictMode>
    <TooltipProvider>
      <RouterProvider router={router} />
    </TooltipProvider>
  </StrictMode>,
);
