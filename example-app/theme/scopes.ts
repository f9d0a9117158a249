import type { AuthRouterOptions } from 'latchkey'
import { previewNotes } from '../notes/notes.ts'

/** The scopes of Notes in every language of its pages. */
export const scopes = {
  'notes:read': {
    description: 'Read your notes',
    group: 'read',
    preview: (user) => previewNotes(Number(user.id)),
    locales: {
      ar: { description: 'قراءة ملاحظاتك' },
      de: { description: 'Ihre Notizen lesen' },
      es: { description: 'Leer sus notas' },
      fr: { description: 'Lire vos notes' },
      ja: { description: 'ノートを読む' },
      nl: { description: 'Je notities lezen' },
    },
  },
  'notes:write': {
    description: 'Write new notes for you',
    group: 'change',
    optional: true,
    locales: {
      ar: { description: 'كتابة ملاحظات جديدة نيابةً عنك' },
      de: { description: 'Neue Notizen für Sie schreiben' },
      es: { description: 'Escribir notas nuevas en su nombre' },
      fr: { description: 'Écrire de nouvelles notes pour vous' },
      ja: { description: 'あなたの代わりに新しいノートを書く' },
      nl: { description: 'Nieuwe notities voor je schrijven' },
    },
  },
} satisfies AuthRouterOptions['scopes']
