import { z } from 'zod'
import { notReadyReasons } from '../../platform/health/readiness.ts'
import { build } from '../../platform/process/build.ts'
import { notReady, routeNotFound, unavailable } from '../errors.ts'
import { mediaNotFound } from './messages.ts'
import type { Route } from './route.ts'
import { named, text } from './schemas.ts'

const health = named(
  'Health',
  z.strictObject({
    status: z.enum(['ok']).describe('All is well.'),
    version: text('The version of the service; of `/healthz` alone.').optional(),
  }),
)

const ofHealth = {
  isInternal: true,
  method: 'get',
  tag: 'Health',
  description: 'For load balancers and monitoring. It needs no API key.',
} as const

const staticContent = {
  isInternal: true,
  method: 'get',
  tag: 'Documentation',
  description: 'It has an `ETag`, and needs no API key.',
} as const

const content = (...types: string[]) => ({ what: 'The content.', types, hasEtag: true }) as const

/** The routes that need no API key, but for `GET /`. */
export const serviceRoutes = {
  getMedia: {
    method: 'get',
    path: '/media/:token',
    tag: 'Media',
    summary: 'The media of a send, for a provider that takes only links',
    description: 'The link is signed and expires after an hour; it needs no API key.',
    params: { token: { what: 'The token of the link.' } },
    answer: { what: "The content, of the send's media type.", types: ['*/*'] },
    refusals: {
      mediaNotFound: { summary: 'The link was altered or has expired', error: mediaNotFound },
      unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable },
    },
    isInternal: true,
    needsPublicUrl: true,
    documentedHead: 'headMedia',
  },
  getHealth: {
    ...ofHealth,
    path: '/healthz',
    summary: 'Whether the process is running',
    answer: { what: 'Yes.', schema: health, example: { status: 'ok', version: build.version } },
    index: { name: 'health', what: 'Whether the process is running.' },
  },
  getReadiness: {
    ...ofHealth,
    path: '/readyz',
    summary: 'Whether the process takes requests',
    answer: { what: 'Yes.', schema: health, example: { status: 'ok' } },
    refusals: {
      noDatabase: {
        summary: 'PostgreSQL does not answer',
        error: () => notReady(notReadyReasons.noDatabase),
      },
      draining: { summary: 'The process is ending', error: () => notReady(notReadyReasons.draining) },
    },
    index: { name: 'readiness', what: 'Whether the process takes requests.' },
  },
  getOpenApi: {
    ...staticContent,
    path: '/openapi.json',
    summary: 'This document',
    answer: content('application/json'),
    index: { name: 'openapi', what: 'The OpenAPI document.' },
  },
  getLlms: {
    ...staticContent,
    path: '/llms.txt',
    summary: 'What the documentation has, for programs that read it',
    answer: content('text/plain'),
  },
  getDocs: {
    ...staticContent,
    path: '/docs',
    summary: 'The documentation, to read and try',
    answer: content('text/html'),
    index: { name: 'docs', what: 'The documentation: guides and routes.' },
  },
  getGuide: {
    ...staticContent,
    path: '/docs/:page',
    summary: 'A page of the documentation, the search, or a file of these pages',
    params: {
      page: { what: 'The name of the page; with `.md`, it comes as Markdown.', example: 'first-send' },
    },
    answer: content(
      'text/html',
      'text/markdown',
      'text/css',
      'text/javascript',
      'image/svg+xml',
      'application/json',
    ),
    refusals: {
      noSuchGuide: { summary: 'There is no such page', error: routeNotFound, otherTypes: ['text/html'] },
    },
  },
} as const satisfies Record<string, Route>
