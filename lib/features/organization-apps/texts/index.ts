import { ar } from './ar.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { ja } from './ja.ts'

type Texts = Readonly<Record<keyof typeof en, string>>

/** The texts of the pages about apps in an organization, by language. */
export const texts: Readonly<Record<string, Texts>> = { ar, de, en, es, fr, ja }
