import type { OperatorPageModel } from '../../../web/pages/operator-page-model.ts'
import type { PageModels } from '../../../web/pages/page-models.ts'

/** Every state of the report, as a sample. @param above what stands above every page */
export const reportStates = (above: OperatorPageModel): Record<string, PageModels['operator-report']> => ({
  'operator-report': {
    ...above,
    groups: [
      {
        kind: 'not-met',
        rows: [
          {
            requirement: 'access tokens are bound to their sender',
            source: 'RFC 9700 §2.2.1',
            reason: 'protocol.dpop or protocol.mutualTls, with protocol.fapi2',
          },
          {
            requirement: 'authorization requests are pushed',
            source: 'FAPI 2.0 Security Profile §5.3.2.2 PAR',
            reason: 'pushedRequests({ required: true })',
          },
        ],
        settings: [
          {
            setting: 'protocol.dpop or protocol.mutualTls, with protocol.fapi2',
            requirements: ['access tokens are bound to their sender'],
            sources: ['RFC 9700 §2.2.1'],
            affected: {
              by: 'registration',
              count: 8,
              total: 10_000,
              isMore: true,
              clients: ['Order Desk', 'Trail Maps', 'Inbox Helper 3000', 'Journal', 'Shop'].map((name) => ({
                name,
                url: '/admin/client?client_id=desk',
              })),
            },
          },
          {
            setting: "codeChallengeMethods: ['S256']",
            requirements: ['the PKCE method is S256', 'PKCE uses S256'],
            sources: ['OAuth 2.1 draft §4.1.1', 'FAPI 2.0 Security Profile §5.3.2.2 PKCE'],
            affected: {
              by: 'use',
              count: 1,
              total: 20,
              isMore: false,
              clients: [{ name: 'Order Desk', url: '/admin/client?client_id=desk' }],
            },
          },
          {
            setting: 'pushedRequests({ required: true })',
            requirements: ['authorization requests are pushed'],
            sources: ['FAPI 2.0 Security Profile §5.3.2.2 PAR', 'OWASP ASVS 5 §10.4.13'],
          },
        ],
      },
      {
        kind: 'host',
        rows: [
          {
            requirement: 'proxies replace the headers that they set',
            source: 'RFC 9700 §4.13',
            reason: "set 'trust proxy' to match your proxies",
          },
        ],
      },
      {
        kind: 'by-configuration',
        rows: [
          {
            requirement: 'the server is reached over TLS',
            source: 'OAuth 2.1 draft §1.5',
            reason: 'issuer with https',
          },
        ],
      },
      {
        kind: 'met',
        rows: [
          {
            requirement: 'redirect URIs are compared as strings',
            source: 'OWASP ASVS 5 §10.4.1',
            reason:
              'test/attacks/redirect-uri.test.ts: “ends on a page when it differs from the registered one by”',
          },
        ],
      },
    ],
  },
})
