import express from 'express'
import { describeOauth4webapi } from '../support/stock-client-oauth4webapi.ts'

test('this file has Express 5', () => expect('query' in express).toBe(false))

describeOauth4webapi('Express 5')
